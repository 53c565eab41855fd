"""Reading only a stretch of time, or the two that are compared, from a real store."""

import re
from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from correlator.join.build import build
from correlator.join.within import MARGIN_NS, during
from correlator.model.evidence import Window, Windows
from correlator.model.records import Batch, Signal
from correlator.store import Store
from tests.correlator.join.telemetry import at
from tests.correlator.store.build import gauge, log_batch, metric_batch

HOUR = 3600
SPANS_AT = [0, HOUR, 2 * HOUR, 30 * HOUR]


def call(second: int) -> Batch:
    """A model call that is a trace of its own."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(
        name="chat", kind=2, trace_id=second.to_bytes(16), span_id=b"12345678",
        start_time_unix_nano=at(second), end_time_unix_nano=at(second + 1),
    )  # fmt: skip
    return Batch(Signal.TRACES, request.SerializeToString())


@pytest.fixture(scope="module")
def filled() -> Iterator[Store]:
    with Store.open() as store:
        points = [gauge("vllm:num_requests_running", time_unix_nano=at(s), as_double=1.0) for s in SPANS_AT]
        store.load([*(call(s + 1) for s in SPANS_AT), *(metric_batch(point) for point in points), log_batch()])
        yield store


def seconds(store: Store, within: Window | Windows | None) -> tuple[list[int], list[int]]:
    """When the requests and the measured points were."""
    evidence = build(store, within=within).evidence
    measured = evidence.series.dropna(subset=["running_requests"]) if "running_requests" in evidence.series else []
    starts = [int(t - at(0)) // 10**9 for t in evidence.requests["start"]]
    return starts, [int(t - at(0)) // 10**9 for t in (measured["start"] if len(measured) else [])]


def test_without_a_stretch_everything_is_read(filled: Store) -> None:
    """None is all there is."""
    assert ([1, HOUR + 1, 2 * HOUR + 1, 30 * HOUR + 1], SPANS_AT) == seconds(filled, None)


def test_a_stretch_is_read_with_a_margin(filled: Store) -> None:
    """What begins up to a minute outside is read, what is further away is not."""
    margin = MARGIN_NS // 10**9
    near = Window(at(HOUR + margin), at(HOUR + margin + 5))
    far = Window(at(HOUR + margin + 5), at(HOUR + margin + 9))
    assert ([HOUR + 1], [HOUR]) == seconds(filled, near)
    assert ([], []) == seconds(filled, far)


def test_of_a_comparison_both_stretches_are_read_and_nothing_between(filled: Store) -> None:
    """Yesterday against today costs two hours, not a day."""
    windows = Windows(Window(at(0), at(10)), Window(at(2 * HOUR), at(2 * HOUR + 10)))
    assert ([1, 2 * HOUR + 1], [0, 2 * HOUR]) == seconds(filled, windows)


def test_coverage_counts_what_was_read(filled: Store) -> None:
    """Records outside the stretch are not evidence."""
    records = build(filled, within=Window(at(0), at(10))).evidence.coverage.records
    assert (1, 1, 0) == (records["spans"], records["gauge_points"], records["log_records"])


def test_other_days_are_not_opened(filled: Store) -> None:
    """The condition lets the engine leave whole partitions alone."""
    inside = during("Timestamp", Window(at(0), at(1)))
    plan = filled.query(f"EXPLAIN indexes = 1 SELECT SpanId FROM otel_traces WHERE {inside}")["explain"]
    read, there = next(match.groups() for line in plan if (match := re.search(r"Parts: (\d+)/(\d+)", line)))
    assert int(read) < int(there)


def test_times_before_1970_are_no_error() -> None:
    """A margin before the beginning of time begins at it."""
    assert "toInt64(0)" in during("Timestamp", Window(1, 2))
