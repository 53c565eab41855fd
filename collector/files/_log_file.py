"""What the readers of programs' logs have in common: lines in, log records, figures and spans out, and the telling
of what could not be used. A reader adds how its records begin and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from collector.attributes import Value
from collector.files._app_record import Record
from collector.files._contract import Options, Source
from collector.files._emit import Emitter
from collector.files._events import ENGINE, recognise, squeezed
from collector.files._exceptions import HEADER, exception_of
from collector.files._log_lines import LINE_LIMIT, LogLines
from collector.files._paste import Begins, records
from collector.files._spans import Spans
from collector.files._stamps import Years
from collector.files._times import plausible
from correlator.model.records import Batch, Problem

_LOUD = frozenset({"WARNING", "ERROR", "CRITICAL", "FATAL"})
_FAILED = frozenset({"ERROR", "CRITICAL", "FATAL"})
_SERIES = 1_000  # sums of one file whose latest time is remembered
Clock = Callable[[], int]


@dataclass(slots=True)
class Sink:
    """Where a reader's findings about one file go."""

    out: Emitter
    spans: Spans
    untimed: int = 0
    untimed_line: int | None = None
    faults: list[Problem] = field(default_factory=list)
    first: int | None = None  # time of the first record that has one
    _since: dict[tuple[str, str], int] = field(default_factory=dict)  # latest count by name and attributes

    def added(self, name: str, unit: str, unix_nano: int, value: int, attributes: Mapping[str, Value]) -> None:
        """What a sum grew by since the last time it was told, or since the file's beginning."""
        key = (name, str(attributes))
        start = min(self._since.pop(key, self.first or unix_nano), unix_nano)
        self.out.sum(name, unit, start, unix_nano, value, attributes)
        self._since[key] = unix_nano
        if len(self._since) > _SERIES:
            del self._since[next(iter(self._since))]

    def tell(self, record: Record, event: str = "", attributes: Mapping[str, Value] | None = None) -> None:
        """The record as a log record. Without `event` it is named by what it says, where it warns or fails."""
        if record.unix_nano is None:
            self.missed(record)
            return
        raised = exception_of(record.texts) if record.level in _LOUD or not record.level else None
        told: dict[str, Value] = dict(attributes or {})
        if raised:
            told |= {"exception.type": raised[0], "exception.message": raised[1]}
        event = event or _event(record, raised)
        body = "\n".join(record.texts).strip("\n")
        self.out.log(record.unix_nano, record.level, body, event, told, record.trace_id, record.span_id)

    def state(self, record: Record, engine: str, facts: Mapping[str, Value]) -> None:
        """Configuration and versions that a record states, each named without `engine.`; nothing if it has none."""
        if record.unix_nano is None:
            self.missed(record)
        elif facts:
            named: dict[str, Value] = {f"engine.{name}": value for name, value in facts.items()}
            body = "\n".join(record.texts)
            self.out.log(record.unix_nano, record.level, body, "tollens.facts", {"engine.name": engine, **named})

    def missed(self, record: Record) -> None:
        """A record that no time is known for."""
        self.untimed += 1
        self.untimed_line = self.untimed_line or record.line

    def batches(self) -> Iterator[Batch | Problem]:
        """Everything gathered since the last call."""
        yield from self.out.batches()
        yield from self.spans.batches()
        yield from self.faults
        self.faults.clear()


class Meaning(Protocol):
    """What the records of one file mean; it may remember what it was told before."""

    def record(self, sink: Sink, record: Record) -> None:
        """One record."""

    def finish(self, sink: Sink) -> None:
        """The file has ended."""


@dataclass(frozen=True, slots=True)
class Plain:
    """The meaning of records that stand each for itself."""

    record: Callable[[Sink, Record], None]

    def finish(self, sink: Sink) -> None:
        """Nothing is left to say."""


@dataclass(frozen=True, slots=True)
class Log:
    """A program's log: the reader that knows it, the service it is of, and how its records begin.

    `undated` is the time of records where nothing names one (Unix ns; None: they are not used).
    """

    reader: str
    service: str
    begins: Begins
    undated: int | None = None


def read_records(source: Source, options: Options, now: Clock, log: Log, meaning: Meaning) -> Iterator[Batch | Problem]:
    """Read a log; `now` serves only to date stamps without a year."""
    scope = f"tollens.{log.reader}"
    sink = Sink(Emitter(source.name, log.service, scope), Spans(source.name, scope))
    with source.open() as stream:
        lines = LogLines(stream)
        for record in records(lines, log.begins, Years(options.near_unix_nano, now)):
            if record.unix_nano is None and log.undated is not None:
                sink.missed(record)
                record.unix_nano = log.undated
            if record.unix_nano is not None and (reason := plausible(record.unix_nano)):
                sink.faults.append(Problem(source.name, reason, "bad_time", record.line))
            else:
                sink.first = record.unix_nano if sink.first is None else sink.first
                meaning.record(sink, record)
            if sink.out.full or sink.spans.full:
                yield from sink.batches()
    meaning.finish(sink)
    yield from sink.batches()
    yield from sink.spans.problems()
    yield from _left_out(source.name, sink, lines, log.undated)


def _event(record: Record, raised: tuple[str, str] | None) -> str:
    if record.level not in _LOUD and not raised and record.level:
        return ""
    said = squeezed("\n".join([*(raised or ()), *record.texts]))
    failed = record.level in _FAILED or raised or any(HEADER in text for text in record.texts)
    return recognise(said, ENGINE) or ("tollens.error" if failed else "")


def _left_out(name: str, sink: Sink, lines: LogLines, undated: int | None) -> Iterator[Problem]:
    if lines.cut:
        reason = f"line is longer than {LINE_LIMIT} bytes; the rest of it was not read"
        yield Problem(name, reason, "truncated", lines.first_cut, count=lines.cut)
    if sink.untimed:
        used = "it is not used" if undated is None else "the file's own time is used"
        reason = f"has no time and stands before the first line that has one; {used}"
        yield Problem(name, reason, "bad_time", sink.untimed_line, count=sink.untimed)
