"""Logs of applications, as plain text or JSON lines, as OTLP log records. Lines without a stamp belong to the
record before them (stack traces); what may be a cause (a full context, an empty pool, retries) is marked."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

from collector.files._app_json import json_object, json_record, looks_like_log
from collector.files._app_record import Record
from collector.files._app_text import stamp_of, text_record
from collector.files._contract import Options, Reader, Source
from collector.files._emit import Emitter
from collector.files._events import APPLICATION, recognise, squeezed
from collector.files._exceptions import exception_of, named
from collector.files._kernel_events import happening
from collector.files._log_lines import LINE_LIMIT, LogLines, text_of
from collector.files._stamps import Years
from collector.files._times import plausible
from correlator.model.records import Batch, Problem

MIN_SHARE = 0.02  # of lines that begin a record, below which a text is no log
SURE = 0.59  # a log can hold anything: other readers know their own better
_ERROR_KEY = re.compile(r"err|code|exception\.(?:type|message)", re.IGNORECASE)
_KERNEL = re.compile(r":\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? \S+ kernel: ")
_KERNEL_REACH = 120  # characters in which that prefix ends
_OTLP = ("resourceSpans", "resourceLogs", "resourceMetrics")


@dataclass(slots=True)
class _Log:
    """Lines become records; a record is complete when the next one begins."""

    out: Emitter
    years: Years
    record: Record | None = None
    json: bool = False  # was the latest record a JSON line?
    last: int | None = None  # time of the latest record that had one
    problems: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and reason
    first_line: dict[tuple[str, str], int] = field(default_factory=dict)

    def line(self, number: int, text: str) -> None:
        value = json_object(text) if text.startswith("{") else None
        if value is not None and (self.json or looks_like_log(value)):
            self.close()
            self.json = True
            self._begin(json_record(number, value, self.years))
        elif self.json and text.startswith("{"):
            self._problem(number, "malformed", "expected a whole JSON object in this line")
        elif record := text_record(number, text, self.years):
            self.close()
            self.json = False
            self._begin(record)
        elif self.record is not None and text.strip():
            self.record.add(text)
        elif text.strip():
            self._problem(number, "bad_time", "stands before the first line with a time and is not used")

    def close(self) -> None:
        """Emit the record at hand."""
        record, self.record = self.record, None
        if record is None or record.unix_nano is None:
            return
        body = "\n".join(record.texts).strip("\n")
        raised = exception_of(record.texts) or next(filter(None, map(named, record.texts[1:])), None)
        if raised:
            record.attributes.setdefault("exception.type", raised[0])
            record.attributes.setdefault("exception.message", raised[1])
        event = recognise(squeezed(f"{_errors(record)}\n{body}"), APPLICATION) or ""
        if kernel := _KERNEL.search(record.texts[0], 0, _KERNEL_REACH):  # a line of the kernel's in a syslog
            event, told = happening(squeezed(record.texts[0][kernel.end() :]))
            record.attributes |= told
        self.out.log(
            record.unix_nano,
            record.level,
            body,
            event,
            record.attributes,
            record.trace_id,
            record.span_id,
            record.service,
        )

    def _begin(self, record: Record) -> None:
        if record.unix_nano is None:
            record.unix_nano = self.last
        if record.unix_nano is None:
            self._problem(record.line, "bad_time", "has no time, expected a key `time`, `timestamp`, `ts` …")
            return
        reason = plausible(record.unix_nano)
        if reason is not None:
            self._problem(record.line, "bad_time", reason)
            return
        self.last, self.record = record.unix_nano, record

    def _problem(self, line: int, kind: str, reason: str) -> None:
        self.problems[kind, reason] += 1
        self.first_line.setdefault((kind, reason), line)


def _errors(record: Record) -> str:
    """Attributes that name an error: many put code and exception there rather than into the message."""
    return "\n".join(str(value) for key, value in record.attributes.items() if _names_error(key))


@lru_cache(maxsize=1_024)
def _names_error(key: str) -> bool:
    return _ERROR_KEY.search(key) is not None


def accepts(source: Source) -> float:
    """The share of lines that begin a record, times `SURE`; 0 for OTLP, single JSON documents and binary."""
    if b"\0" in source.head:
        return 0.0
    *whole, last = source.head.split(b"\n")
    texts = [text_of(line[:LINE_LIMIT]) for line in (whole or [last])[:500]]
    texts = [text for text in texts if text.strip()]
    begun = sum(map(begins, texts))
    if begun <= MIN_SHARE * len(texts) or any(f'"{key}"' in text for text in texts for key in _OTLP):
        return 0.0
    return SURE * max(0.5, begun / len(texts))


def begins(text: str) -> bool:
    """Does a line begin a record?"""
    value = json_object(text) if text.startswith("{") else None
    return looks_like_log(value) if value is not None else stamp_of(text, Years(0, lambda: 0)) is not None


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of log records; the clock serves only to date stamps without a year."""
    stem = PurePath(source.name).name.split(".")[0] or "stdin"
    out = Emitter(source.name, "stdin" if source.name == "-" else stem, "tollens.app_log")
    log = _Log(out, Years(options.near_unix_nano, now))
    with source.open() as stream:
        lines = LogLines(stream)
        for number, raw in lines:
            log.line(number, text_of(raw))
            if out.full:
                yield from out.batches()
    log.close()
    yield from out.batches()
    for (kind, reason), count in log.problems.items():
        yield Problem(source.name, reason, kind, log.first_line[kind, reason], None, count)
    if lines.cut:
        reason = f"line is longer than {LINE_LIMIT} bytes; the rest of it was not read"
        yield Problem(source.name, reason, "truncated", lines.first_cut, None, lines.cut)


READER = Reader(id="app_log", accepts=accepts, read=read)
