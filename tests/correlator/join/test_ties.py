"""Ties of state to requests, sampling of traces, happenings, and what coverage says about them."""

import numpy as np
import pandas as pd
import pytest

from correlator.model import names as n
from correlator.store import Store
from tests.correlator.join.telemetry import (
    at,
    chat,
    gauge,
    happening,
    join,
    metrics,
    request,
    root,
    traces,
)

WAITING = "vllm:num_requests_waiting"


def requests(store: Store, *batches) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    return join(store, *batches).evidence.requests


def test_a_request_meets_the_mean_of_its_own_interval(store: Store) -> None:
    """The state tied to a request is that from its start to its end, not of its surroundings."""
    state = metrics(gauge(WAITING, [(0, 100), (5, 1), (10, 3), (15, 5), (20, 100)]))
    found = requests(store, traces([*request("long", 6, 12), *request("short", 11, 0.1)]), state)
    assert [3.0, 3.0] == found[n.WAITING.name].tolist()


def test_a_request_between_two_samples_meets_the_one_before(store: Store) -> None:
    """With a sample in every second bucket a short request takes the latest before it, never a later one."""
    state = metrics(gauge(WAITING, [(0, 1), (10, 2), (20, 3)]))
    assert [1.0] == requests(store, traces(request("t", 7, 0.1)), state)[n.WAITING.name].tolist()


def test_a_request_far_from_every_sample_meets_nothing(store: Store) -> None:
    """Where nothing was sampled around a request its state is unknown."""
    state = metrics(gauge(WAITING, [(0, 1), (5, 2), (10, 3)]))
    found = requests(store, traces([*request("a", 2, 0.1), *request("b", 60, 0.1)]), state)
    assert 1.0 == found[n.WAITING.name][0]
    assert np.isnan(found[n.WAITING.name][1])


def test_what_is_sampled_too_rarely_is_not_tied_and_said(store: Store) -> None:
    """Points 30 s apart cannot say what one request met: no column, and coverage names the signal."""
    state = metrics(gauge(WAITING, [(0, 1), (30, 2), (60, 3)]))
    evidence = join(store, traces(request("t", 31, 0.1)), state).evidence
    assert n.WAITING.name not in evidence.requests
    assert any(n.WAITING.name in message for message in evidence.coverage.messages)
    assert 30.0 == evidence.coverage.signals[n.WAITING.name]["interval_s"]


def test_a_request_knows_how_long_the_engine_was_up(store: Store) -> None:
    """Seconds before warm count from the last start before the request; unknown before the first."""
    spans = [*request("before", 1, 0.1), *request("after", 12, 0.1), *request("again", 33, 0.1)]
    starts = [happening(10, "engine_start"), happening(30, "engine_ready")]
    early = requests(store, traces(spans), *starts)[n.EARLY.name]
    assert np.isnan(early[0])
    assert [-2.0, -3.0] == early[1:].tolist()


def test_a_refused_request_is_told_from_other_errors(store: Store) -> None:
    """Only a failed request whose text speaks of the context length is a context error."""
    message = "This model's maximum context length is 4096 tokens"
    spans = [
        root(trace="long", start=0, end=1, failed=True),
        chat(trace="long", id="c", parent="root", start=0, end=1, failed=True, message=message),
        root(trace="other", start=1, end=2, failed=True, message="connection refused"),
    ]
    evidence = join(store, traces(spans)).evidence
    assert [1.0, 0.0] == evidence.requests[n.CONTEXT_ERROR.name].tolist()
    assert ["context_overflow"] == [event.name for event in evidence.events]


def test_failures_that_say_nothing_leave_refusals_unknown(store: Store) -> None:
    """Not even of requests that succeeded is it known, so that nothing can be compared."""
    spans = [root(trace="silent", start=0, end=1, failed=True), *request("fine", 2, 0.1)]
    found = join(store, traces(spans)).evidence.requests
    assert [] == [v for v in found.get(n.CONTEXT_ERROR.name, []) if not np.isnan(v)]


def test_happenings_and_facts_are_in_order(store: Store) -> None:
    """Events and facts come with their times, earliest first, attributes kept; plain log lines are neither."""
    evidence = join(
        store,
        happening(9, "preemption", count="3"),
        happening(2, "engine_start"),
        happening(5, "facts", engine__max_num_seqs="8", unrelated="x"),
    ).evidence
    assert [("engine_start", at(2)), ("preemption", at(9))] == [(e.name, e.unix_nano) for e in evidence.events]
    assert {"count": "3"} == evidence.events[1].attributes
    assert [("engine.max_num_seqs", "8", at(5))] == [(f.name, f.value, f.unix_nano) for f in evidence.facts]


def test_a_process_that_began_anew_is_a_start(store: Store) -> None:
    """A changed process start time is a start of the engine and a reset of its counters; the first is neither."""
    began = [(0.0, 1_795_999_000.0), (5.0, 1_795_999_000.0), (10.0, 1_796_000_007.0)]
    events = join(store, metrics(gauge("process_start_time_seconds", began))).evidence.events
    assert [("engine_start", at(7)), ("counter_reset", at(10))] == [(e.name, e.unix_nano) for e in events]


@pytest.fixture(scope="module")
def many() -> list:  # type: ignore[type-arg]
    rng = np.random.default_rng(7)
    latencies = rng.lognormal(0, 0.3, 900)
    return [s for i, latency in enumerate(latencies) for s in request(f"t{i}", i / 10, float(latency))]


def test_a_sample_of_traces_tells_the_same(store: Store, many: list) -> None:  # type: ignore[type-arg]
    """Read from a third of the traces, latency is the same within noise, and rates are scaled up."""
    whole, part = join(store, traces(many)).evidence, join(store, traces(many), limit=300).evidence
    assert (900, None) == (len(whole.requests), whole.coverage.sampled_traces)
    assert 200 < len(part.requests) == part.coverage.sampled_traces < 400
    assert set(part.requests["trace_id"]) < set(whole.requests["trace_id"])
    for signal in (n.LATENCY.name, n.IN_FLIGHT.name):
        assert whole.requests[signal].mean() == pytest.approx(part.requests[signal].mean(), rel=0.15)
    rates = [evidence.series[n.ARRIVAL_RATE.name].mean() for evidence in (whole, part)]
    assert rates[0] == pytest.approx(rates[1], rel=0.15)


def test_coverage_counts_what_was_there(store: Store) -> None:
    """Records by kind, kinds of source, and the signals with where they were measured."""
    spans = [root(start=0, end=1), chat(id="c", parent="root", start=0, end=1)]
    state = metrics(gauge(WAITING, [(0, 1), (5, 2)]))
    coverage = join(store, traces(spans), state, happening(1, "preemption")).evidence.coverage
    assert {"spans": 2, "log_records": 1, "gauge_points": 2} == {k: v for k, v in coverage.records.items() if v}
    assert {"traces", "error_texts", "engine_log", "engine_metrics"} == coverage.watched
    assert ["requests", "series"] == coverage.signals[n.WAITING.name]["sources"]
    assert ["requests"] == coverage.signals[n.LATENCY.name]["sources"]
    assert n.HOST_CPU.name not in coverage.signals
