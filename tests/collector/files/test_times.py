"""Times that cannot be: said and counted, their records left out, nothing repaired."""

from collections.abc import Callable
from typing import Any

import pytest

from correlator.model.records import Signal
from tests.collector.files.support import (
    T0,
    gauges,
    json_lines,
    log,
    logs,
    merged,
    point,
    read_bytes,
    span,
    span_names,
    traces,
)

BAD = [
    (0, "time is zero"),
    (T0 // 10**9, "time looks like seconds, expected nanoseconds"),
    (T0 // 10**6, "time looks like milliseconds, expected nanoseconds"),
    (T0 // 10**3, "time looks like microseconds, expected nanoseconds"),
    (7_258_118_400 * 10**9, "time is after the year 2099"),
    (86_400 * 10**9, "time is before the year 2000"),
    (2**64 - 1, "time is after the year 2099"),
]


def timed_span(number: int, time: int) -> dict[str, Any]:
    return traces(span(number, startTimeUnixNano=str(time), endTimeUnixNano=str(time)))


CASES: dict[Signal, Callable[[int, int], dict[str, Any]]] = {
    Signal.TRACES: timed_span,
    Signal.METRICS: lambda number, time: gauges(point(timeUnixNano=str(time))),
    Signal.LOGS: lambda number, time: logs(log(timeUnixNano=str(time))),
}


@pytest.mark.parametrize("signal", Signal)
@pytest.mark.parametrize(("time", "reason"), BAD)
def test_bad_times_are_counted(signal: Signal, time: int, reason: str) -> None:
    """One problem a file and reason, with its first line and count; sound records stay."""
    build = CASES[signal]
    documents = [build(1, T0), build(2, time), build(3, time), build(4, T0)]
    batches, problems = read_bytes(json_lines(*documents))
    assert [("bad_time", 2, reason, 2)] == [(p.kind, p.line, p.reason, p.count) for p in problems]
    assert [signal, signal] == [batch.signal for batch in batches]


def test_a_log_without_time_has_its_observed_time() -> None:
    """A log record whose time is zero is kept if it was observed at a believable time."""
    batches, problems = read_bytes(json_lines(logs(log(timeUnixNano="0", observedTimeUnixNano=str(T0)))))
    assert [] == problems
    assert 1 == len(merged(batches, Signal.LOGS).resource_logs[0].scope_logs[0].log_records)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"endTimeUnixNano": str(T0 - 1)}, "span ends before it starts"),
        ({"endTimeUnixNano": "0"}, "time is zero"),
    ],
)
def test_a_span_without_a_length(fields: dict[str, Any], reason: str) -> None:
    """A span that never ended or ended before it began would have no duration: it is left out."""
    batches, problems = read_bytes(json_lines(traces(span(1), span(2, **fields))))
    assert ["span 1"] == span_names(batches)
    assert [("bad_time", "endTimeUnixNano", reason)] == [(p.kind, p.field, p.reason) for p in problems]


@pytest.mark.parametrize("fields", [{"traceId": ""}, {"spanId": ""}, {"traceId": "0" * 32}, {"spanId": "0" * 16}])
def test_a_span_needs_its_ids(fields: dict[str, str]) -> None:
    """A span whose ids are missing or zero belongs to no trace: it is left out and counted."""
    batches, problems = read_bytes(json_lines(traces(span(1), span(2, **fields))))
    assert ["span 1"] == span_names(batches)
    assert [("malformed", next(iter(fields)))] == [(p.kind, p.field) for p in problems]
