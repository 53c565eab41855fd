"""From the lines of a program's log, as people have it, to its records: whatever stands before a line (quotes, pod,
container and journal prefixes, colours) is peeled off, and a line that begins no record continues the one before."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from collector.attributes import Value
from collector.files._app_record import Record
from collector.files._events import squeezed
from collector.files._log_lines import text_of
from collector.files._stamps import ISO, MONTHS, Years, iso_unix_nano

PEELS = 5  # wrappers around one line
_WRAPPER = re.compile(
    rf"\s*>\s?|\[pod/[^\]]*\] ?|{ISO.pattern}\s+(?:(?:stdout|stderr) [FP] )?(?:\S+ (?:[\w./-]+\[\d+\]|kernel): )?"
    r"|[\w.-]+\s+\| |(?:<\d{1,3}>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) \S+ (?:[\w./-]+\[\d+\]|kernel): "
)
_DULL = re.compile(r"\s*(?:```.*)?$")


class Head(NamedTuple):
    """How a record begins: its own time (None where only the prefix has one), level, and the rest of the line."""

    unix_nano: int | None
    level: str
    text: str
    attributes: Mapping[str, Value] = {}


class Peeled(NamedTuple):
    """A line without what stands before it, and the time that stood there."""

    unix_nano: int | None
    text: str


Begins = Callable[[Peeled, Years], Head | None]


def peeled(text: str, years: Years) -> Peeled:
    """The line as the program wrote it. Of several times before it the first counts: it is surest of its zone."""
    if text.startswith('{"log":'):
        text = _docker(text)
    time: int | None = None
    for _ in range(PEELS):
        match = _WRAPPER.match(text)
        if match is None or not match.end():
            break
        time = time if time is not None else _time(match, years)
        text = text[match.end() :]
    return Peeled(time, text)


def records(lines: Iterable[tuple[int, bytes]], begins: Begins, years: Years) -> Iterator[Record]:
    """The records in their order. One without any time has the time of the one before, or None."""
    record: Record | None = None
    now: int | None = None
    for number, raw in lines:
        line = peeled(text_of(raw), years)
        if _DULL.match(line.text):
            continue
        head = begins(line, years)
        if head is None and record is not None:
            record.add(line.text)
            continue
        if record is not None:
            yield record
        head = head or Head(None, "", line.text)
        now = line.unix_nano or head.unix_nano or now
        record = Record(number, now, head.level, [head.text], attributes=dict(head.attributes))
    if record is not None:
        yield record


def together(texts: list[str]) -> tuple[str, ...]:
    """A record as one line: as a terminal broke it, then as a mail would, at spaces."""
    return (texts[0],) if len(texts) == 1 else ("".join(texts), " ".join(texts))


def whole(record: Record) -> str:
    """What a record says without any white space and in lower case: broken or not, it reads the same."""
    return squeezed("".join(record.texts))


def _time(match: re.Match[str], years: Years) -> int | None:
    if match[1]:
        own = iso_unix_nano(match)
        if own is not None:
            years.saw(own)
        return own
    return years.unix_nano(MONTHS[match[4]], int(match[5]), match[6]) if match[4] in MONTHS else None


def _docker(text: str) -> str:
    """A line of Docker's json-file driver as its time and text."""
    try:
        record = json.loads(text)
        return f"{record['time']} {record['log'].rstrip()}"
    except (ValueError, KeyError, AttributeError, TypeError):
        return text
