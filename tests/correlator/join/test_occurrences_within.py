"""What happened is read over the whole comparison, and what was configured from before it."""

from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from correlator.join.build import build
from correlator.join.series import BUCKET_NS
from correlator.join.within import MARGIN_NS
from correlator.model.evidence import Window, Windows
from correlator.model.records import Batch, Signal
from correlator.store import Store

SECOND = 1_000_000_000
ONSET = 1_796_000_000 * SECOND
WINDOWS = Windows(Window(ONSET - 1_800 * SECOND, ONSET - 900 * SECOND), Window(ONSET, ONSET + 300 * SECOND), given=True)


def log(event: str, at: int, **attributes: str) -> Batch:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=at, event_name=event)
    for key, value in attributes.items():
        record.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return Batch(Signal.LOGS, request.SerializeToString())


def gauge(name: str, *points: tuple[int, float, int]) -> Batch:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name=name)
    for at, value, flags in points:
        metric.gauge.data_points.add(time_unix_nano=at, as_double=value, flags=flags)
    return Batch(Signal.METRICS, request.SerializeToString())


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        yield store


def test_what_happened_between_the_windows_is_seen(store: Store) -> None:
    """A restart in the gap between baseline and incident belongs to the comparison."""
    store.load([log("tollens.engine_start", ONSET - 450 * SECOND)])
    events = build(store, within=WINDOWS).evidence.events
    assert [("engine_start", ONSET - 450 * SECOND)] == [(e.name, e.unix_nano) for e in events]


def test_what_was_configured_long_before_is_still_known(store: Store) -> None:
    """The start-up log of three days ago says what is in force; an event of then is not part of the comparison."""
    before = ONSET - 3 * 86_400 * SECOND
    store.load([log("tollens.facts", before, engine__max_num_seqs="8"), log("tollens.engine_start", before)])
    evidence = build(store, within=WINDOWS).evidence
    assert [("engine.max_num_seqs", "8")] == [(f.name, f.value) for f in evidence.facts]
    assert () == evidence.events


def test_a_series_that_ended_is_no_restart(store: Store) -> None:
    """The marker that a scraped series is stale has no value; it must not look like another start of the process."""
    began = (ONSET - 7_200 * SECOND) / SECOND
    store.load([gauge("process_start_time_seconds", (ONSET - 1_200 * SECOND, began, 0), (ONSET, 0.0, 1))])
    evidence = build(store, within=WINDOWS).evidence
    assert () == evidence.events
    assert ONSET - 1_200 * SECOND + 1 == evidence.coverage.extents["process_metrics"].end


def test_arrivals_are_not_made_up_between_the_windows(store: Store) -> None:
    """A baseline of a month ago does not mean a month without requests; losses on the way are not known to be none."""
    month = Windows(Window(ONSET - 30 * 86_400 * SECOND, ONSET - 30 * 86_400 * SECOND + 60 * SECOND), WINDOWS.incident)
    store.load([spans(*(window.start + at * SECOND for window in (month.baseline, month.incident) for at in (1, 30)))])
    evidence = build(store, within=month).evidence
    inside = sum((w.end - w.start + 2 * MARGIN_NS) // BUCKET_NS + 2 for w in (month.baseline, month.incident))
    assert 4 == len(evidence.requests)
    assert 0 < len(evidence.series) <= inside
    assert not evidence.coverage.losses_known


def spans(*starts: int) -> Batch:
    request = ExportTraceServiceRequest()
    found = request.resource_spans.add().scope_spans.add().spans
    for number, start in enumerate(starts, 1):
        ids = {"trace_id": number.to_bytes(16, "big"), "span_id": number.to_bytes(8, "big")}
        found.add(name="POST", kind=2, start_time_unix_nano=start, end_time_unix_nano=start + SECOND, **ids)
    return Batch(Signal.TRACES, request.SerializeToString())
