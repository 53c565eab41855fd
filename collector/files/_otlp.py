"""What OTLP requests have in common, whatever their encoding: screening, splitting and their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.files._times import plausible
from correlator.model.records import Batch, Problem, Signal

MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Shape:
    """The request of one signal and the names of its three nested lists."""

    request: type[Message]
    resources: str
    scopes: str
    records: str


SHAPES = {
    Signal.TRACES: Shape(ExportTraceServiceRequest, "resource_spans", "scope_spans", "spans"),
    Signal.METRICS: Shape(ExportMetricsServiceRequest, "resource_metrics", "scope_metrics", "metrics"),
    Signal.LOGS: Shape(ExportLogsServiceRequest, "resource_logs", "scope_logs", "log_records"),
}


class _Records(Protocol):
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __delitem__(self, index: Any) -> None: ...


def record_lists(signal: Signal, request: Message) -> Iterator[_Records]:
    """The lists that hold the spans, data points or log records of a request."""
    shape = SHAPES[signal]
    for resource in getattr(request, shape.resources):
        for scope in getattr(resource, shape.scopes):
            records = getattr(scope, shape.records)
            if signal is not Signal.METRICS:
                yield records
                continue
            for metric in records:
                kind = metric.WhichOneof("data")
                if kind is not None:
                    yield getattr(metric, kind).data_points


def drop(records: _Records, unwanted: Callable[[Any], bool]) -> int:
    """Remove the unwanted records in place and say how many they were."""
    indices = [index for index, record in enumerate(records) if unwanted(record)]
    for index in reversed(indices):
        del records[index]
    return len(indices)


_Fault = tuple[str, str, str]  # kind, field, reason


@dataclass(slots=True)
class Screen:
    """Drops records that no table should hold; counts them by reason for one file."""

    source: str
    _counts: Counter[_Fault] = field(default_factory=Counter)
    _first_line: dict[_Fault, int | None] = field(default_factory=dict)

    def clean(self, signal: Signal, request: Message, line: int | None = None) -> None:
        """Remove the records of `request` that have no believable time or no id."""

        def unwanted(record: Any) -> bool:
            return not self.passes(signal, record, line)

        for records in record_lists(signal, request):
            drop(records, unwanted)

    def passes(self, signal: Signal, record: Any, line: int | None = None) -> bool:
        """Whether one span, point or log record has what a table needs; if not, it is counted."""
        fault = _FAULT_OF[signal](record)
        if fault is not None:
            self._counts[fault] += 1
            self._first_line.setdefault(fault, line)
        return fault is None

    def problems(self) -> Iterator[Problem]:
        """One problem a reason, at the line where it was first met."""
        for fault, count in self._counts.items():
            kind, name, reason = fault
            yield Problem(self.source, reason, kind, self._first_line[fault], name, count)


def _bad_time(name: str, unix_nano: int) -> _Fault | None:
    reason = plausible(unix_nano)
    return None if reason is None else ("bad_time", name, reason)


def _span_fault(span: Any) -> _Fault | None:
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    fault = _bad_time("startTimeUnixNano", start) or _bad_time("endTimeUnixNano", end)
    if fault is None and end < start:
        fault = ("bad_time", "endTimeUnixNano", "span ends before it starts")
    if fault is None and (len(span.trace_id) != 16 or not any(span.trace_id)):
        fault = ("malformed", "traceId", "expected 16 bytes (32 hex characters), not all zero")
    if fault is None and (len(span.span_id) != 8 or not any(span.span_id)):
        fault = ("malformed", "spanId", "expected 8 bytes (16 hex characters), not all zero")
    return fault


def _point_fault(point: Any) -> _Fault | None:
    return _bad_time("timeUnixNano", point.time_unix_nano)


def _log_fault(log: Any) -> _Fault | None:
    return _bad_time("timeUnixNano", log.time_unix_nano or log.observed_time_unix_nano)


_FAULT_OF: dict[Signal, Callable[[Any], _Fault | None]] = {
    Signal.TRACES: _span_fault,
    Signal.METRICS: _point_fault,
    Signal.LOGS: _log_fault,
}


def first_time(batch: Batch) -> int | None:
    """The time of the first record of a batch, in ns, None if it has none."""
    try:
        request = SHAPES[batch.signal].request.FromString(batch.payload)
    except DecodeError:
        return None
    for records in record_lists(batch.signal, request):
        for record in records:
            return int(_time(batch.signal, record)) or None
    return None


def _time(signal: Signal, record: Any) -> int:
    if signal is Signal.TRACES:
        return int(record.start_time_unix_nano)
    time = int(record.time_unix_nano)
    return time or (int(record.observed_time_unix_nano) if signal is Signal.LOGS else 0)


def batches(signal: Signal, request: Message) -> Iterator[Batch]:
    """The request as batches of at most MAX_BYTES (a single record may be larger); nothing if empty."""
    if not any(len(records) for records in record_lists(signal, request)):
        return
    if request.ByteSize() <= MAX_BYTES:
        yield Batch(signal, request.SerializeToString())
        return
    halves = _halves(SHAPES[signal], request)
    if halves is None:
        yield Batch(signal, request.SerializeToString())
        return
    for half in halves:
        yield from batches(signal, half)


def _halves(shape: Shape, request: Any) -> tuple[Any, Any] | None:
    """The request cut in two at its outermost list with more than one element."""
    first, second = shape.request(), shape.request()
    first.CopyFrom(request)
    second.CopyFrom(request)
    one, two = first, second
    for name in (shape.resources, shape.scopes, shape.records):
        left, right = getattr(one, name), getattr(two, name)
        middle = len(left) // 2
        if middle:
            del left[middle:], right[:middle]
            return first, second
        one, two = left[0], right[0]
    return None
