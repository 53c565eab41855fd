"""Spans to requests: outcome, tokens, attempts, and a latency ledger whose parts add up."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from correlator.join.build import Joined
from correlator.model import names as n
from correlator.store import Store
from tests.correlator.join.telemetry import Span, at, chat, join, request, retrieval, root, served, traces

TIMED = {
    "gen_ai.latency.time_in_queue": 0.05,
    "gen_ai.latency.time_in_model_prefill": 0.1,
    "gen_ai.latency.time_in_model_decode": 0.2,
}
MORE_THAN_ITS_SPAN = {
    "gen_ai.latency.time_in_queue": 0.4,
    "gen_ai.latency.time_in_model_prefill": 0.2,
    "gen_ai.latency.time_in_model_decode": 0.2,
}
TOKENS = {
    "gen_ai.usage.input_tokens": 200,
    "gen_ai.usage.output_tokens": 11,
    "gen_ai.usage.cache_read.input_tokens": 50,
    "gen_ai.response.finish_reasons": '["length"]',
    "gen_ai.response.model": "llama",
}


def answer(trace: str, *inner: Span) -> list[Span]:
    """A request of one second: retrieval 0.1 to 0.3, and what is given."""
    return [
        root(trace=trace, start=0, end=1),
        retrieval(trace=trace, id="r", parent="root", start=0.1, end=0.3, attributes={"db.response.returned_rows": 3}),
        *inner,
    ]


def called(trace: str, *, under: str = "call", attributes: dict[str, float] = TIMED) -> list[Span]:
    return answer(
        trace,
        chat(trace=trace, id="call", parent="root", start=0.4, end=0.9, attributes=TOKENS),
        served(trace=trace, id="engine", parent=under, start=0.45, end=0.85, attributes=attributes),
    )


def every_case() -> Iterator[Span]:
    yield from called("plain")
    yield from called("plain")  # as a retried export sends it
    yield from called("beside", under="root")
    yield from called("scaled", attributes=MORE_THAN_ITS_SPAN)
    yield from answer("blind", chat(trace="blind", id="call", parent="root", start=0.4, end=0.9))
    yield from answer(
        "twice served",
        chat(trace="twice served", id="call", parent="root", start=0.3, end=1),
        served(trace="twice served", id="one", parent="call", start=0.4, end=0.5, failed=True),
        served(trace="twice served", id="two", parent="call", start=0.7, end=0.9, attributes=TIMED),
    )
    yield from answer(
        "called again",
        chat(trace="called again", id="one", parent="root", start=0.4, end=0.5, failed=True),
        chat(trace="called again", id="two", parent="root", start=0.7, end=0.9),
        served(trace="called again", id="engine", parent="two", start=0.72, end=0.88, attributes=TIMED),
    )
    yield from answer(
        "resent",
        chat(trace="resent", id="c", parent="root", start=0.4, end=0.9, attributes={"http.request.resend_count": 2}),
    )
    yield from answer("torn", Span(trace="torn", id="x", parent="lost", start=0.4, end=0.5))
    yield from request("later", 3, 3.2)  # so that what is missing of the others does not come any more
    yield from request("failed", 0, 0.2, failed=True)
    yield from request("status", 0, 0.2, **{"http.response.status_code": 503})
    yield from request("fine", 0, 0.2, **{"http.response.status_code": 200})
    yield Span(trace="start-up", id="a", name="Load model", service="vllm", start=0, end=9)
    yield from answer(
        "nothing found",
        retrieval(
            trace="nothing found",
            id="again",
            parent="root",
            start=0.4,
            end=0.5,
            attributes={"db.response.returned_rows": 0},
        ),
    )
    yield root(trace="empty", start=0, end=1)
    yield retrieval(trace="empty", id="r", parent="root", start=0, end=0.5, attributes={"db.response.returned_rows": 0})


@pytest.fixture(scope="module")
def joined(store: Store) -> Joined:
    return join(store, traces(every_case()))


@pytest.fixture(scope="module")
def rows(joined: Joined) -> pd.DataFrame:
    """Requests by the name their trace was given."""
    names = joined.evidence.requests["trace_id"].map(lambda t: bytes.fromhex(t).lstrip(b"\1").decode())
    return joined.evidence.requests.set_index(names)


def ledger(row: pd.Series) -> dict[str, float]:
    """The known parts that are not zero."""
    parts = {n.part_name(p): row.get(p.name, np.nan) for p in n.LEDGER}
    return {part: pytest.approx(value, abs=1e-6) for part, value in parts.items() if abs(value) > 1e-9}


PARTS = {"gateway": 0.3, "retrieval": 0.2, "network": 0.1, "queue": 0.05, "prefill": 0.1, "decode": 0.2}


@pytest.mark.parametrize("trace", ["plain", "beside"])
def test_a_whole_trace_is_split_into_its_parts(rows: pd.DataFrame, trace: str) -> None:
    """Each millisecond is where it was spent, wherever vLLM hung its span; duplicates change nothing."""
    assert ledger(rows.loc[trace]) == {**PARTS, "remainder": 0.05}


def test_engine_times_that_exceed_its_span_are_scaled(rows: pd.DataFrame) -> None:
    """Clocks that disagree cannot make the parts longer than the span they lie in."""
    assert ledger(rows.loc["scaled"]) == {**PARTS, "queue": 0.2, "prefill": 0.1, "decode": 0.1}


def test_without_the_serving_span_network_is_unknown(rows: pd.DataFrame) -> None:
    """A call whose other side was not seen is remainder; network is missing, not zero."""
    assert ledger(rows.loc["blind"]) == {"gateway": 0.3, "retrieval": 0.2, "remainder": 0.5}
    assert np.isnan(rows.loc["blind", [n.NETWORK.name, n.QUEUE.name, n.DECODE.name]].to_numpy(dtype=float)).all()


def test_two_serving_spans_under_one_call_are_two_tries(rows: pd.DataFrame) -> None:
    """The first try and the wait until the second are retry; the engine's parts are those of the last."""
    row = rows.loc["twice served"]
    assert (2, pytest.approx(0.2)) == (row[n.ATTEMPTS.name], row[n.SERVER_LATENCY.name])
    fit = 0.2 / 0.35
    assert ledger(row) == {
        "gateway": 0.1,
        "retrieval": 0.2,
        "network": 0.2,
        "retry": 0.3,
        "queue": 0.05 * fit,
        "prefill": 0.1 * fit,
        "decode": 0.2 * fit,
    }


def test_a_failed_call_and_another_are_two_tries(rows: pd.DataFrame) -> None:
    """A failed sibling call is retry, and the one logical call lasted as long as the one that worked."""
    row = rows.loc["called again"]
    assert (2, pytest.approx(0.2)) == (row[n.ATTEMPTS.name], row[n.CLIENT_LATENCY.name])
    assert row[n.RETRY.name] >= 0.1


def test_the_wait_before_calling_again_is_retry(rows: pd.DataFrame) -> None:
    """Back-off between a failed call and its repetition is retry, not gateway."""
    assert pytest.approx(0.3) == rows.loc["called again", n.RETRY.name]


def test_a_client_that_counts_its_repetitions_is_believed(rows: pd.DataFrame) -> None:
    """`http.request.resend_count` of 2 means three tries."""
    assert 3 == rows.loc["resent", n.ATTEMPTS.name]


def test_a_request_without_model_calls_has_no_attempts(rows: pd.DataFrame) -> None:
    """What was never tried has an unknown number of tries."""
    assert np.isnan(rows.loc["fine", n.ATTEMPTS.name])


def test_tokens_and_what_follows_from_them(rows: pd.DataFrame) -> None:
    """Token counts come from the call, and shares and times per token from them."""
    row = rows.loc["plain"]
    assert (200, 11, 50, 1, "llama") == tuple(
        row[c] for c in ("input_tokens", "output_tokens", "cached_input_tokens", "truncated", "model")
    )
    derived = [row[s.name] for s in (n.CACHED_SHARE, n.PREFILL_PER_TOKEN, n.TIME_PER_OUTPUT_TOKEN, n.OUTBOUND)]
    assert pytest.approx([0.25, 0.0005, 0.02, 0.05], abs=1e-6) == derived


def test_what_failed_is_an_error(rows: pd.DataFrame) -> None:
    """A root with error status, or answered with 4xx or 5xx, failed; others did not."""
    assert [1, 1, 0, 0] == rows.loc[["failed", "status", "fine", "plain"], n.ERROR.name].tolist()


def test_retrieval_that_found_nothing_is_told(rows: pd.DataFrame) -> None:
    """A request is empty when no search of it returned a document; without a search it is unknown."""
    found = rows.loc[["empty", "nothing found", "plain", "fine"], n.EMPTY_RETRIEVAL.name].astype(float)
    assert [1.0, 0.0, 0.0] == found.tolist()[:3]
    assert np.isnan(found["fine"])


def test_work_that_nobody_asked_for_is_no_request(rows: pd.DataFrame) -> None:
    """A trace of an engine's start-up is not among the requests."""
    assert "start-up" not in rows.index


def test_missing_parents_are_counted(joined: Joined, rows: pd.DataFrame) -> None:
    """A span whose parent never came is counted, and its trace is marked as torn."""
    coverage = joined.evidence.coverage
    assert 1 == coverage.problems["missing_parent"]
    assert 0 < coverage.orphan_share < 0.1
    assert ["torn"] == [t for t in rows.index if rows.loc[t, n.TELEMETRY_LOST.name] == 1 and t not in BLIND]


BLIND = {"blind", "resent"}


def test_rows_are_in_order_and_end_after_they_start(rows: pd.DataFrame) -> None:
    """Requests are sorted by start, each with its end."""
    assert rows["start"].is_monotonic_increasing
    assert at(1) == rows.loc["plain", "end"]


@st.composite
def any_trace(draw: st.DrawFn) -> list[Span]:
    """Client, serving, retrieval and other spans hung together at random, some failed, some with timings."""
    spans = [root(start=0, end=draw(st.floats(0, 3)))]
    for i in range(draw(st.integers(0, 9))):
        start = draw(st.floats(-0.5, 3))
        kind = draw(st.sampled_from([chat, chat, served, retrieval, Span]))
        fields = {
            "id": f"s{i}",
            "parent": draw(st.sampled_from(["root", "lost", *(f"s{j}" for j in range(9))])),
            "start": start,
            "end": start + draw(st.one_of(st.just(0.0), st.floats(0, 2))),
            "failed": draw(st.booleans()),
        }
        timings = {key: draw(st.floats(0, 1)) for key in TIMED} if draw(st.booleans()) else {}
        spans.append(kind(**fields, **({"attributes": timings} if kind is served else {})))
    return spans


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(any_trace(), min_size=20, max_size=30))
def test_the_parts_of_every_request_add_up(store: Store, several: list[list[Span]]) -> None:
    """Whatever a trace looks like, its known parts add up to its latency within a microsecond, none negative."""
    spans = [Span(**{**vars_of(s), "trace": f"t{i}"}) for i, trace in enumerate(several) for s in trace]
    found = join(store, traces(spans)).evidence.requests
    parts = found[[p.name for p in n.LEDGER if p.name in found]]
    assert len(several) == len(found)
    assert parts.min(axis=None) >= -1e-9
    assert (parts.sum(axis=1) - found[n.LATENCY.name]).abs().max() <= 1e-6


def vars_of(span: Span) -> dict[str, object]:
    return {name: getattr(span, name) for name in span.__dataclass_fields__}


def test_spans_that_belong_to_no_request_are_none(store: Store) -> None:
    """What a cut file leaves over may be inner spans alone: no requests, no error, and their lack of parents told."""
    inner = [Span(trace="cut", id=f"s{k}", parent="gone", name="tokenize", start=k, end=k + 1) for k in range(3)]
    evidence = join(store, traces(inner)).evidence
    assert evidence.requests.empty
    assert len(inner) == evidence.coverage.records["spans"]
