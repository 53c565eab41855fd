"""JSON documents of a stream, pretty printed or one a line, each bounded; what is no JSON is named by its line."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeVar

from collector.files._contract import Source
from collector.files._lines import MAX_LINE, lines
from correlator.model.records import Problem

Taken = TypeVar("Taken")

AT_MARGIN = re.compile(rb'\{\s*"')
"""A document of JSON lines begins at the margin, whatever became of the line before."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BETWEEN = re.compile(r"[\s,\[]*")


def documents(stream: BinaryIO, start: re.Pattern[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """(first line, text) of each JSON document: it ends where its brackets close or a line matches `start`.

    None stands for a document longer than MAX_LINE.
    """
    parts: list[bytes] = []
    first, size, depth = 1, 0, 0
    for number, line in lines(stream):
        if line is None or size + len(line) > MAX_LINE:
            yield number, None
            parts, size, depth = [], 0, 0
            continue
        if parts and not parts[0].startswith(b"[") and start.match(line):
            yield first, b"".join(parts)
            parts, size, depth = [], 0, 0
        if not parts:
            if not line.strip():
                continue
            first = number
        parts.append(line)
        size += len(line)
        depth += _opened(line)
        if depth <= 0:
            yield first, b"".join(parts)
            parts, size, depth = [], 0, 0
    if parts:
        yield first, b"".join(parts)


def parsed(text: bytes, name: str, line: int) -> Any:
    """The value of a document that begins at `line` of the file `name`, or the Problem that it is none."""
    try:
        return json.loads(text.rstrip())
    except json.JSONDecodeError as error:
        where = f"{error.msg} at column {error.colno}"
        return Problem(name, f"not valid JSON: {where}", line=line + error.lineno - 1)
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        return Problem(name, f"not valid JSON: {error}", line=line)


def values(stream: BinaryIO, name: str) -> Iterator[tuple[int, Any] | Problem]:
    """(first line, value) of each document; of a damaged array its whole elements, and what was expected."""
    for line, text in documents(stream, AT_MARGIN):
        if text is None:
            yield Problem(name, f"document is longer than {MAX_LINE >> 20} MiB", "malformed", line)
            continue
        value = parsed(text, name, line)
        if not isinstance(value, Problem):
            yield line, value
            continue
        yield value
        if text.lstrip().startswith(b"[") and (whole := list(_elements(text))):
            yield line, whole


def each(source: Source, take: Callable[[int, Any], Iterator[Taken]]) -> Iterator[Taken | Problem]:
    """What `take` makes of each document of a file (its first line, its value), and what was no document."""
    with source.open() as stream:
        for item in values(stream, source.name):
            if isinstance(item, Problem):
                yield item
            else:
                yield from take(*item)


def _elements(text: bytes) -> Iterator[Any]:
    """The elements at the beginning of an array that is cut or damaged."""
    written, decoder = text.decode("utf-8", "replace"), json.JSONDecoder()
    at = _BETWEEN.match(written).end()  # type: ignore[union-attr]
    while at < len(written):
        try:
            value, at = decoder.raw_decode(written, at)
        except (ValueError, RecursionError):
            return
        yield value
        at = _BETWEEN.match(written, at).end()  # type: ignore[union-attr]


def _opened(line: bytes) -> int:
    """Brackets that a line opens and leaves open; those inside strings only matter if they do not add up."""
    opened = line.count(b"{") + line.count(b"[") - line.count(b"}") - line.count(b"]")
    if opened == 0:
        return 0
    bare = _STRING.sub(b"", line)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
