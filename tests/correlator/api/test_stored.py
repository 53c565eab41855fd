"""The API over a real store with a recorded incident in it, wired as the product is."""

import socket
import threading
from collections.abc import Callable, Iterator
from itertools import count

import httpx
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from correlator.api import Services, create_app, reading, shapes
from correlator.api.diagnosis import Diagnosis
from correlator.model.moments import rfc3339
from correlator.model.names import SIGNALS
from correlator.model.records import Batch, Signal
from correlator.store import Store
from correlator.store.incidents import Incidents
from tests.correlator.api.served import T0, Client, incident
from tests.correlator.api.wired import filled, services
from tests.recorded import true_windows

WINDOWS = true_windows("s01_token_inflation")
QUESTION = {
    name: {"start": rfc3339(window.start), "end": rfc3339(window.end)}
    for name, window in (("baseline", WINDOWS.baseline), ("incident", WINDOWS.incident))
}
LONG = bytes(range(16, 32)).hex()
LONG_AGO = T0 - 86_400_000_000_000


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open() as store:
        yield filled(store)


@pytest.fixture(scope="module")
def wired(store: Store) -> Services:
    return services(store)


@pytest.fixture
def client(wired: Services) -> Iterator[Client]:
    with Client(wired) as client:
        yield client


def test_a_recorded_incident_is_diagnosed_on_demand(client: Client) -> None:
    """The true windows give the true cause, in the promised shape."""
    answer = client.request("POST", "/api/v1/diagnose", json=QUESTION | {"where": "rag-api"})
    assert 200 == answer.status_code
    assert "input_token_inflation" == Diagnosis.model_validate_json(answer.content).findings[0].hypothesis


@pytest.mark.parametrize(
    "question",
    [
        QUESTION | {"where": "nobody"},
        QUESTION | {"baseline": {"start": "2020-01-01T00:00:00Z", "end": "2020-01-01T01:00:00Z"}},
        {name: {"start": "2020-01-01T00:00:00Z", "end": "2020-01-01T01:00:00Z"} for name in QUESTION},
    ],
)
def test_what_cannot_be_compared_is_no_defect(client: Client, question: dict[str, object]) -> None:
    """A service nobody heard of, a window without data, a store without that day: 422 that says why."""
    answer = client.request("POST", "/api/v1/diagnose", json=question)
    assert 422 == answer.status_code
    assert answer.json()["detail"]


def test_a_trace_comes_with_its_spans_in_order(client: Client, store: Store) -> None:
    """All spans of the busiest trace, by start, parents known, times that fit."""
    busiest = store.query(
        """SELECT TraceId AS id, count() AS n FROM otel_traces
           GROUP BY id HAVING min(ServiceName) != '' ORDER BY n DESC, id LIMIT 1"""
    )
    found = shapes.Trace.model_validate_json(client.get(f"/api/v1/traces/{busiest['id'][0]}").content)
    ids = [span.span_id for span in found.spans]
    assert (int(busiest["n"][0]), False) == (len(ids), found.truncated)
    assert sorted(span.offset_s for span in found.spans) == [span.offset_s for span in found.spans]
    assert {""} == {span.parent_span_id for span in found.spans} - set(ids)


def test_a_long_trace_is_cut_and_says_so(client: Client, store: Store) -> None:
    """Spans, attribute values and bytes of an answer are bounded."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for k in range(reading.SPANS + 5):
        spans.add(
            name="s",
            trace_id=bytes.fromhex(LONG),
            span_id=k.to_bytes(8),
            start_time_unix_nano=LONG_AGO + k,
            end_time_unix_nano=LONG_AGO + k,
        )
    spans[0].attributes.append(KeyValue(key="prompt", value=AnyValue(string_value="é" * 10_000)))
    store.load([Batch(Signal.TRACES, request.SerializeToString())])
    found = client.get(f"/api/v1/traces/{LONG}").json()
    assert (reading.SPANS, True) == (len(found["spans"]), found["truncated"])
    assert "é" * reading.VALUE == found["spans"][0]["attributes"]["prompt"]


def test_a_heavy_trace_is_cut_by_its_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few spans with much in them are cut too, but something is always shown."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for k in range(20):
        span = spans.add(name="s", trace_id=b"h" * 16, span_id=k.to_bytes(8), start_time_unix_nano=LONG_AGO + k)
        span.attributes.append(KeyValue(key="prompt", value=AnyValue(string_value="x" * 4_000)))
    store.load([Batch(Signal.TRACES, request.SerializeToString())])
    monkeypatch.setattr(reading, "BYTES", 10_000)
    found = reading.trace(store, (b"h" * 16).hex())
    assert found is not None
    assert (2, True) == (len(found["spans"]), found["truncated"])


def test_signals_are_those_a_diagnosis_would_see(client: Client) -> None:
    """What was recorded is listed with its interval and when it was last seen; what was not is not."""
    found = {s.name: s for s in shapes.Signals.model_validate_json(client.get("/api/v1/signals").content).signals}
    assert {"request_latency", "input_tokens", "kv_cache_usage", "running_requests"} <= set(found)
    assert "retrieval_score" not in found
    assert SIGNALS["kv_cache_usage"].unit == found["kv_cache_usage"].unit
    assert found["kv_cache_usage"].interval_s == pytest.approx(5, abs=1)
    assert found["kv_cache_usage"].last_seen.startswith("2026-11-30T03:37")


def numbered() -> Callable[[], int]:
    numbers = count(1)
    return lambda: next(numbers)


def test_signals_are_read_anew_only_where_somebody_asks() -> None:
    """A console that polls costs one reading in a while, nobody none."""
    now = [0.0]
    known = reading.Held(numbered(), 60, lambda: now[0])
    assert [1, 1] == [known(), known()]
    known.renew()
    known.renew()
    assert 2 == known()


def test_an_old_answer_is_not_given_any_more() -> None:
    """Who comes after a long while waits for a new one."""
    now = [0.0]
    known = reading.Held(numbered(), 60, lambda: now[0])
    assert 1 == known()
    now[0] = 60.0
    assert 2 == known()


def test_who_comes_during_a_reading_gets_the_last_answer() -> None:
    """A slow reading holds up nobody who knows an answer."""
    answers, inside, go = iter(["old", "new"]), threading.Event(), threading.Event()

    def slow() -> str:
        inside.set()
        assert go.wait(30)
        return next(answers)

    go.set()
    known = reading.Held(slow, 60)
    assert "old" == known()
    go.clear()
    inside.clear()
    renewing = threading.Thread(target=known.renew)
    renewing.start()
    assert inside.wait(30)
    assert "old" == known()
    go.set()
    renewing.join(30)
    assert "new" == known()


@settings(max_examples=10)
@given(times=st.lists(st.integers(0, 9), max_size=8), limit=st.integers(1, 4))
def test_pages_concatenated_are_the_whole_list(store: Store, times: list[int], limit: int) -> None:
    """Followed by `next` while new incidents open: every one that was there exactly once, in order."""
    store.query("TRUNCATE TABLE tollens_incidents")
    incidents = Incidents(store)
    for k, second in enumerate(times):
        incidents.save(incident(f"i{k}", T0 + second))
    with Client(services(store, incidents)) as client:
        expected = [head["id"] for head in client.get("/api/v1/incidents", limit=500).json()["incidents"]]
        found, page = [], client.get("/api/v1/incidents", limit=limit).json()
        while True:
            found += [head["id"] for head in page["incidents"]]
            incidents.save(incident(f"new{len(found)}", T0 + 10 + len(found)))
            if page["next"] is None:
                break
            page = client.get("/api/v1/incidents", limit=limit, cursor=page["next"]).json()
    assert expected == found


def test_uvicorn_serves_it(wired: Services) -> None:
    """A real server on a port of the system's choice: answers, an error, an unchanged answer, a clean stop."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(wired), log_level="critical"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=30) as asked:
            first = asked.get("/api/v1/hypotheses")
            again = asked.get("/api/v1/hypotheses", headers={"If-None-Match": first.headers["etag"]})
            lost = asked.get("/api/v1/incidents/nobody")
            large = asked.post("/api/v1/diagnose", content=b" " * 70_000, headers={"Content-Type": "application/json"})
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
    assert [200, 304, 404, 413] == [answer.status_code for answer in (first, again, lost, large)]
    assert not thread.is_alive()
