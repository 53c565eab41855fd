"""The watcher on a recorded incident: a real store, the real join and engine, its clock turned by the test."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.files import read
from correlator.join.build import build
from correlator.model.evidence import Evidence, Kind, Windows, with_windows
from correlator.model.incidents import Incident, State, Wanted
from correlator.model.records import Batch, Signal
from correlator.store import Store
from correlator.store.incidents import Incidents
from correlator.watch.loop import Watcher, tick
from correlator.watch.settings import Change, WatchSettings
from correlator.wiring import diagnosed
from tests.recorded import paths, true_windows

CAPTURE = "s01_token_inflation"
SHIFT = 40 * 86_400_000_000_000
"""As if it had happened forty days later."""
REQUESTS = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}
SETTINGS = WatchSettings(
    every_s=15, delay_s=0, change=Change(window_s=45, baseline_s=60), close_after_s=60, rediagnose_s=15
)


def shifted(batch: Batch) -> Batch:
    request = REQUESTS[batch.signal].FromString(batch.payload)
    _shift(request)
    return Batch(batch.signal, request.SerializeToString())


def _shift(message: Any) -> None:
    for field, value in message.ListFields():
        if field.name.endswith("time_unix_nano"):
            setattr(message, field.name, value + SHIFT)
        elif field.message_type is not None:
            for child in value if field.is_repeated else (value,):
                _shift(child)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.load(shifted(item) for item in read(paths(CAPTURE)) if isinstance(item, Batch))
        yield store


def watcher(store: Store, incidents: Incidents) -> Watcher:
    def evidence(windows: Windows) -> Evidence:
        return with_windows(build(store, within=windows).evidence, windows)

    return Watcher(
        settings=SETTINGS,
        evidence=evidence,
        diagnose=lambda windows, kind, where: diagnosed(store, windows, kind, where),
        live=incidents.live,
        save=incidents.save,
    )


def test_a_recorded_incident_is_noticed_diagnosed_and_kept_open(store: Store) -> None:
    """Prompts that grew: one latency incident, its cause first in the stored diagnosis; then silence, still open."""
    truth, incidents = true_windows(CAPTURE), Incidents(store)
    watched = watcher(store, incidents)
    onset, end = truth.incident.start + SHIFT, truth.incident.end + SHIFT
    for now in range(onset - 10_000_000_000, end, 15_000_000_000):
        tick(watched, now)
    found = incidents.find(Wanted()).incidents
    assert [(Kind.LATENCY, "rag-api", State.OPEN)] == [(i.kind, i.where, i.state) for i in found]
    whole = incidents.get(found[0].id)
    assert onset < whole.opened < end
    assert "input_token_inflation" == first_cause(whole)
    tick(watched, end + 600_000_000_000)
    whole = incidents.get(whole.id)
    assert State.OPEN is whole.state
    assert "not enough telemetry" in whole.note


def first_cause(incident: Incident) -> str:
    return incident.diagnosis["findings"][0]["hypothesis"]
