"""Access logs of HTTP and gRPC proxies (nginx, Envoy, Istio, HAProxy, Traefik, Caddy) as server spans. Without a
duration in its lines a log gives no span: it gives counts of answers by status class."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

from collector.files._access import Request, span_of
from collector.files._access_json import request_of
from collector.files._access_text import BEGINS, counted_in, request_in
from collector.files._app_json import json_object
from collector.files._contract import Options, Reader, Source
from collector.files._emit import Emitter
from collector.files._log_lines import LINE_LIMIT, LogLines
from collector.files._paste import Head, Peeled, records
from collector.files._spans import Spans
from collector.files._stamps import Years
from collector.files._times import SECOND
from correlator.model.records import Batch, Problem

SURE, COUNTS, LEAST = 0.9, 0.7, 0.3
STRETCH_NS = 10 * SECOND
STRETCHES = 1_000
"""Held at once; of a longer log the earliest is told. A line for it that comes later makes a sum of its own."""
_SAMPLE, _LINE = 200, 8_192
_PIECES = 8  # a line may be broken into


def accepts(source: Source) -> float:
    """By the share of lines, put together again, that tell of a request, with its duration or without."""
    years, lines = Years(None, lambda: 0), source.head.split(b"\n")[:_SAMPLE]
    found = list(records(enumerate((line[:_LINE] for line in lines), start=1), _begins, years))
    timed = sum(_told(record.texts, years)[0] is not None for record in found)
    counted = sum(counted_in(record.texts[0]) is not None for record in found)
    enough = max(LEAST * len(found), len(lines) / _PIECES)
    return SURE if timed > enough else COUNTS if counted > enough else 0.0


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of spans and counts; a line that tells of no request is counted."""
    spans, counts = Spans(source.name, "tollens.access_log"), _Counts(source)
    years, others, first = Years(options.near_unix_nano, now), 0, 0
    with source.open() as stream:
        lines = LogLines(stream)
        for record in records(lines, _begins, years):
            request, used = _told(record.texts, years)
            if request is not None:
                span = span_of(request, record.line, record.texts[0])
                spans.add({"service.name": request.proxy}, span, record.line)
            elif counts.take(record.texts[0]):
                used = 1
                yield from counts.batches()
            if used < len(record.texts):
                others, first = others + len(record.texts) - used, first or record.line + used
            if spans.full:
                yield from spans.batches()
    yield from spans.batches()
    yield from counts.rest()
    yield from spans.problems()
    if others:
        yield Problem(source.name, "expected a line of an access log", line=first, count=others)
    if counts.without_duration:
        reason = "access log tells no duration (nginx: $request_time); only counts by status are used"
        yield Problem(source.name, reason, "unsupported", count=counts.without_duration)
    if lines.cut:
        reason = f"line is longer than {LINE_LIMIT} bytes; the rest of it was not read"
        yield Problem(source.name, reason, "truncated", lines.first_cut, count=lines.cut)


def _begins(line: Peeled, years: Years) -> Head | None:
    return Head(None, "", line.text) if BEGINS.match(line.text) else None


def _told(texts: list[str], years: Years) -> tuple[Request | None, int]:
    """What a line tells, whole or put together again, and of how many pieces."""
    for text, used in ((texts[0], 1), ("".join(texts), len(texts)), (" ".join(texts), len(texts))):
        if request := _request(text, years):
            return request, used
    return None, 0


def _request(text: str, years: Years) -> Request | None:
    if not text.startswith("{"):
        return request_in(text)
    value = json_object(text)
    return request_of(value, years) if value is not None else None


class _Counts:
    """Answers by status class, in stretches of the log's own time."""

    def __init__(self, source: Source) -> None:
        self._out = Emitter(source.name, "proxy", "tollens.access_log")
        self._stretches: dict[int, Counter[str]] = {}
        self.without_duration = 0

    def take(self, text: str) -> bool:
        """Count a line without a duration; whether it was one."""
        found = counted_in(text)
        if found is None:
            return False
        end, status = found
        self.without_duration += 1
        stretch = self._stretches.setdefault(end // STRETCH_NS, Counter())
        stretch[f"{status // 100}xx"] += 1
        if len(self._stretches) > STRETCHES:
            self._tell(min(self._stretches))
        return True

    def batches(self) -> Iterator[Batch]:
        """What was told, where it is enough for a request."""
        if self._out.full:
            yield from self._out.batches()

    def rest(self) -> Iterator[Batch]:
        """Everything that is left."""
        for index in sorted(self._stretches):
            self._tell(index)
            yield from self.batches()
        yield from self._out.batches()

    def _tell(self, index: int) -> None:
        """The counts of a stretch as sums over it; zeros too, but for the class of no final answer."""
        counted, start = self._stretches.pop(index), index * STRETCH_NS
        for status in sorted({"2xx", "3xx", "4xx", "5xx"} | set(counted)):
            value = counted[status]
            self._out.sum("http_requests_total", "{request}", start, start + STRETCH_NS, value, {"status": status})


READER = Reader(id="access_log", accepts=accepts, read=read)
