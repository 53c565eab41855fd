"""Signals that tell causes apart: tries given up, refusals' counts, pools, skewed clocks, sampling, lost telemetry."""

import numpy as np
import pandas as pd
import pytest

from correlator.join.occurrences import REFUSAL
from correlator.model import names as n
from correlator.model.evidence import Evidence
from correlator.store import Store
from tests.correlator.join.telemetry import (
    Span,
    chat,
    counter,
    gauge,
    histogram,
    join,
    metrics,
    request,
    root,
    served,
    traces,
)

EVERY_5_S = range(0, 65, 5)


def called(trace: str, start: float, *inner: Span) -> list[Span]:
    return [root(trace=trace, start=start, end=start + 1), *inner]


def requests(store: Store, *spans: Span) -> pd.DataFrame:
    return join(store, traces(spans)).evidence.requests.set_index("trace_id", drop=False)


def of(table: pd.DataFrame, signal: n.Signal) -> dict[str, float]:
    return dict(zip([bytes.fromhex(t).lstrip(b"\1").decode() for t in table.index], table[signal.name], strict=True))


def test_how_long_a_try_was_waited_for(store: Store) -> None:
    """A failed call's own time; of two serving spans under one call, the time until the second began."""
    spans = [
        *called(
            "calls",
            0,
            chat(trace="calls", id="a", parent="root", start=0.1, end=0.4, failed=True),
            chat(trace="calls", id="b", parent="root", start=0.4, end=0.9),
        ),
        *called(
            "inside",
            2,
            chat(trace="inside", id="c", parent="root", start=2.1, end=2.9),
            served(trace="inside", id="d", parent="c", start=2.1, end=2.8),
            served(trace="inside", id="e", parent="c", start=2.35, end=2.9),
        ),
        *called("once", 4, chat(trace="once", id="f", parent="root", start=4.1, end=4.9)),
    ]
    found = of(requests(store, *spans), n.GIVEN_UP)
    assert pytest.approx(0.3) == found["calls"]
    assert pytest.approx(0.25) == found["inside"]
    assert np.isnan(found["once"])


def test_whose_failure_it_was(store: Store) -> None:
    """A model call that failed in the end is the model's failure; one that was tried again and answered is not."""
    spans = [
        *called("model", 0, chat(trace="model", id="a", parent="root", start=0.1, end=0.4, failed=True)),
        *called(
            "again",
            2,
            chat(trace="again", id="b", parent="root", start=2.1, end=2.3, failed=True),
            chat(trace="again", id="c", parent="root", start=2.4, end=2.9),
        ),
        root(trace="other", start=4, end=5, failed=True),
        chat(trace="other", id="d", parent="root", start=4.1, end=4.5),
    ]
    assert {"model": 1.0, "again": 0.0, "other": 0.0} == of(requests(store, *spans), n.MODEL_ERROR)


@pytest.mark.parametrize(("share_behind", "expected"), [(0.8, 0.2), (0.2, 0.0)])
def test_clocks_that_disagree(store: Store, share_behind: float, expected: float) -> None:
    """The clock is behind by what most serving spans begin too early; a few that do are no skew."""
    spans = []
    for i in range(10):
        behind = 0.2 if i < 10 * share_behind else -0.05
        call = chat(trace=f"t{i}", id="c", parent="root", start=i + 0.3, end=i + 0.9)
        engine = served(trace=f"t{i}", id="e", parent="c", start=i + 0.3 - behind, end=i + 0.8 - behind)
        spans += called(f"t{i}", i, call, engine)
    evidence = join(store, traces(spans)).evidence
    assert pytest.approx(expected) == evidence.coverage.clock_skew_s
    assert pytest.approx(share_behind * 0.2) == evidence.requests[n.CLOCK_SKEW.name].mean()


def test_clocks_that_nobody_compared(store: Store) -> None:
    """Without a call that both sides recorded nothing is known about the clocks."""
    assert join(store, traces(request("t", 0, 1))).evidence.coverage.clock_skew_s is None


TIMED = {
    "gen_ai.latency.time_in_queue": 0.05,
    "gen_ai.latency.time_in_model_prefill": 0.1,
    "gen_ai.latency.time_in_model_decode": 0.2,
}


def test_what_the_engine_takes_beside_the_model(store: Store) -> None:
    """The serving span beyond queue, prefill and decode; unknown where the engine does not report them."""
    spans = []
    for trace, start, attributes in (("timed", 0, TIMED), ("untimed", 2, {})):
        call = chat(trace=trace, id="c", parent="root", start=start + 0.2, end=start + 0.9)
        engine = served(trace=trace, id="e", parent="c", start=start + 0.3, end=start + 0.7, attributes=attributes)
        spans += called(trace, start, call, engine)
    found = of(requests(store, *spans), n.ENGINE_HOST)
    assert pytest.approx(0.05) == found["timed"]
    assert np.isnan(found["untimed"])


def test_what_was_not_found_in_the_cache_was_computed(store: Store) -> None:
    """Prompt tokens less those read from a cache; unknown where nobody counted the latter."""
    tokens = {"gen_ai.usage.input_tokens": 200, "gen_ai.usage.cache_read.input_tokens": 150}
    spans = [
        *called("some", 0, chat(trace="some", id="a", parent="root", start=0.1, end=0.9, attributes=tokens)),
        *called(
            "unknown",
            2,
            chat(trace="unknown", id="b", parent="root", start=2.1, end=2.9, attributes=dict([*tokens.items()][:1])),
        ),
    ]
    found = of(requests(store, *spans), n.COMPUTED_TOKENS)
    assert 50 == found["some"]
    assert np.isnan(found["unknown"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the "
            "messages, 1000 in the completion).",
            {"requested_tokens": "5000", "context_limit": "4096"},
        ),
        (
            "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.",
            {"input_tokens": "40000", "context_limit": "32768"},
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            {"input_tokens": "5000", "context_limit": "4096"},
        ),
        (
            "prompt is too long: 204,980 tokens > 200,000 maximum",
            {"requested_tokens": "204980", "context_limit": "200000"},
        ),
        ("context_length_exceeded", {}),
    ],
)
def test_what_a_refusal_counts(store: Store, text: str, expected: dict[str, str]) -> None:
    """Refusals of different engines name what was asked for, or only the prompt, and what is allowed."""
    call = chat(trace="t", id="c", parent="root", start=0, end=1, failed=True, message=text)
    (event,) = join(store, traces([root(trace="t", start=0, end=1, failed=True), call])).evidence.events
    assert expected == dict(event.attributes)
    assert set(expected) <= set(REFUSAL)


REFUSED = "maximum context length is 4096 tokens. However, your request has {} input tokens"


@pytest.mark.parametrize(
    ("prompt", "room", "expected"),
    [(4000, 500, 4500.0), (5000, None, 5000.0), (4000, None, np.nan)],
    ids=["prompt and room", "prompt alone is too long", "room is not known"],
)
def test_what_was_asked_for(store: Store, prompt: int, room: int | None, expected: float) -> None:
    """A prompt alone says what was asked for with the room for its answer, or where it does not fit by itself."""
    asked = {} if room is None else {"gen_ai.request.max_tokens": room}
    call = {"trace": "t", "id": "c", "parent": "root", "start": 0, "end": 1}
    refused = chat(**call, failed=True, message=REFUSED.format(prompt), attributes=asked)
    found = requests(store, root(trace="t", start=0, end=1, failed=True), refused)
    counted = found.get(n.REQUESTED_TOKENS.name, pd.Series([np.nan])).iloc[0]
    assert np.isnan(counted) if np.isnan(expected) else expected == counted
    assert [4096] == found[n.CONTEXT_LIMIT.name].tolist()


def series(store: Store, *batches) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    evidence: Evidence = join(store, *batches).evidence
    return evidence.series


def test_a_pool_tells_its_share_in_use(store: Store) -> None:
    """Connections in use over the largest number of them, calls that wait, and how long one is held."""
    used = {"db.client.connection.state": "used"}
    found = series(
        store,
        metrics(
            gauge("db.client.connection.count", [(t, 8) for t in EVERY_5_S], **used),
            gauge("db.client.connection.count", [(t, 2) for t in EVERY_5_S], **{"db.client.connection.state": "idle"}),
            gauge("db.client.connection.max", [(t, 10) for t in EVERY_5_S]),
            gauge("db.client.connection.pending_requests", [(t, 3) for t in EVERY_5_S]),
            histogram("db.client.connection.use_time", [(t, 2 * t, 0.5 * t) for t in EVERY_5_S]),
        ),
    )
    assert {0.8} == set(found[n.STORE_POOL_SHARE.name])
    assert {3.0} == set(found[n.STORE_POOL_PENDING.name])
    assert pytest.approx(0.25) == found[n.STORE_POOL_HELD.name].mean()


def test_what_a_collector_loses_adds_up(store: Store) -> None:
    """Refused, not queued and not sent, over all that arrived; without what arrived it is unknown."""
    lost = [
        counter("otelcol_receiver_refused_spans", [(t, 10 * t) for t in EVERY_5_S]),
        counter("otelcol_exporter_enqueue_failed_spans", [(t, 5 * t) for t in EVERY_5_S]),
        counter("otelcol_exporter_send_failed_spans", [(t, 5 * t) for t in EVERY_5_S]),
    ]
    arrived = counter("otelcol_receiver_accepted_spans", [(t, 90 * t) for t in EVERY_5_S])
    assert pytest.approx(0.2) == series(store, metrics(*lost, arrived))[n.TELEMETRY_REFUSED.name].mean()
    assert n.TELEMETRY_REFUSED.name not in series(store, metrics(*lost))


def test_offered_load_counts_tries_and_goodput_answers(store: Store) -> None:
    """Of two requests a bucket one is sent twice and one fails: three tries, one answer, two arrivals."""
    spans = []
    for i, start in enumerate(EVERY_5_S):
        again = {"http.request.resend_count": 1}
        call = chat(trace=f"a{i}", id="c", parent="root", start=start + 1, end=start + 2, attributes=again)
        spans += [*called(f"a{i}", start + 1, call), *request(f"b{i}", start + 2, 1, failed=True)]
    found = series(store, traces(spans))
    rates = found[[n.ARRIVAL_RATE.name, n.OFFERED_LOAD.name, n.GOODPUT.name]].mean()
    assert pytest.approx([0.4, 0.6, 0.2]) == rates.tolist()


def test_traces_are_counted_against_the_metric_of_the_same_place(store: Store) -> None:
    """Where a metric counts four requests for each trace, a quarter is traced; without that metric it is unknown."""
    spans = traces([s for i, t in enumerate(range(0, 60, 5)) for s in request(f"t{i}", t + 1, 0.5)])
    counted = metrics(histogram("http.server.request.duration", [(t, 4 * t // 5, 0.4 * t) for t in EVERY_5_S]))
    assert pytest.approx(0.25) == series(store, spans, counted)[n.TRACED_SHARE.name].mean()
    assert n.TRACED_SHARE.name not in series(store, spans)


def test_what_is_left_of_the_host(store: Store) -> None:
    """The share of CPU time that nothing uses."""
    idle = gauge("system.cpu.utilization", [(t, 0.3) for t in EVERY_5_S], state="idle")
    found = series(store, metrics(idle))
    assert pytest.approx(0.3) == found[n.HOST_CPU_LEFT.name].mean()
    assert pytest.approx(0.7) == found[n.HOST_CPU.name].mean()
