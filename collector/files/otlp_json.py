"""OTLP JSON: a request a document, pretty printed or one a line as the Collector's file exporter does."""

import re
from collections.abc import Iterator
from typing import Any

from collector.files._contract import Options, Reader, Source
from collector.files._documents import documents, parsed
from collector.files._json import Losses, Unfit, message
from collector.files._lines import MAX_LINE
from collector.files._log_events import name_events
from collector.files._otlp import SHAPES, Screen, batches
from correlator.model.records import Batch, Problem, Signal

_KEYS = {"resourceSpans": Signal.TRACES, "resourceMetrics": Signal.METRICS, "resourceLogs": Signal.LOGS}
_START = re.compile(rb'\s*\{\s*"resource(?:Spans|Metrics|Logs)"\s*:')
_LINE_START = re.compile(rb"(?:^|\n)(?:\xef\xbb\xbf)?" + _START.pattern)
_KEY = re.compile(rb'"resource(?:Spans|Metrics|Logs)"\s*:\s*\[')
_EXPECTED = "expected an object with resourceSpans, resourceMetrics or resourceLogs"


def accepts(source: Source) -> float:
    """By the three keys that begin every OTLP request."""
    if b'"resource' not in source.head:
        return 0.0
    if _LINE_START.search(source.head):
        return 1.0
    return 0.6 if source.head.lstrip().startswith(b"{") and _KEY.search(source.head) else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Every request of the stream; a document or record that cannot be read is named and left out."""
    screen = Screen(source.name)
    with source.open() as stream:
        for line, text in documents(stream, _START):
            if text is None:
                yield Problem(source.name, f"document is longer than {MAX_LINE >> 20} MiB", "malformed", line)
            else:
                yield from _document(text, line, screen)
    yield from screen.problems()


def _document(text: bytes, line: int, screen: Screen) -> Iterator[Batch | Problem]:
    value = parsed(text, screen.source, line)
    if isinstance(value, Problem):
        yield value
        return
    keys = [key for key in _KEYS if key in value] if isinstance(value, dict) else []
    if not keys:
        yield Problem(screen.source, f"{_EXPECTED}, found {_kind(value)}", line=line)
    for key in keys:
        yield from _request(_KEYS[key], value, text, line, screen)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(list(value)[:5]) or 'no keys'}"[:120]
    return f"a JSON {type(value).__name__}"


def _request(signal: Signal, value: Any, text: bytes, line: int, screen: Screen) -> Iterator[Batch | Problem]:
    shape, losses = SHAPES[signal], Losses()
    try:
        request = shape.request(**message(shape.request.DESCRIPTOR)(value, losses))
        screen.clean(signal, request, line)
        if signal is Signal.LOGS:
            name_events(request)
        yield from batches(signal, request)
    except Unfit as error:
        losses.unfit.append(error)
    starts: dict[str, int] = {}
    for unfit in losses.unfit:
        place = line + text.count(b"\n", 0, _place(text, unfit, starts))
        yield Problem(screen.source, str(unfit), line=place, field=unfit.path)


def _place(text: bytes, unfit: Unfit, starts: dict[str, int]) -> int:
    """Where the unfit value is written, as far as its key and text can be found; each is found once."""
    key, found = unfit.path.rsplit(".", 1)[-1], str(unfit).rpartition("found ")[2].strip("'")
    written = rf'"{re.escape(key)}"\s*:\s*"?{re.escape(found)}'
    match = re.compile(written.encode(errors="replace")).search(text, starts.get(written, 0))
    if match is None:
        return 0
    starts[written] = match.end()
    return match.end()


READER = Reader(id="otlp_json", accepts=accepts, read=read)
