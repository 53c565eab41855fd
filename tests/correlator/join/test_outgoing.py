"""Calls that leave a service: dependencies, waits for a store's connection, and the silence before a call."""

import pytest

from correlator.model import names as n
from correlator.store import Store
from tests.correlator.join.telemetry import Span, chat, join, retrieval, root, served, traces


def row(store: Store, *spans: Span):  # type: ignore[no-untyped-def]
    return join(store, traces(spans)).evidence.requests.iloc[0]


def get(**fields: object) -> Span:
    return Span(**({"id": "get", "parent": "root", "name": "GET", "kind": "CLIENT", "start": 1, "end": 3} | fields))  # type: ignore[arg-type]


def test_a_call_of_another_service_is_a_dependency_with_all_below_it(store: Store) -> None:
    """The time of the call and of what the other service does is one part of the ledger."""
    inner = Span(id="in", parent="get", name="GET /f", kind="SERVER", service="features", start=1.5, end=2.5)
    found = row(store, root(start=0, end=5), get(), inner)
    assert pytest.approx(2) == found[n.DEPENDENCY.name]
    assert pytest.approx(3) == found[n.GATEWAY.name]


@pytest.mark.parametrize(
    "spans",
    [
        (get(), chat(id="c", parent="get", start=1.2, end=2.8)),
        (chat(id="c", parent="root", start=0.5, end=4), get(parent="c")),
        (retrieval(id="r", parent="root", start=0.5, end=4), get(parent="r")),
        (get(attributes={"url.path": "/v1/chat/completions"}),),
        (get(), served(id="s", parent="get", start=1.5, end=2.5)),
    ],
    ids=["above a model call", "below a model call", "below a search", "of a model's path", "to an engine"],
)
def test_calls_on_the_way_to_the_model_are_none(store: Store, spans: tuple[Span, ...]) -> None:
    """What leads to the model or the store, or carries their calls, is no other dependency."""
    assert n.DEPENDENCY.name not in row(store, root(start=0, end=5), *spans)


@pytest.mark.parametrize(("failed", "expected"), [(True, 1.0), (False, 0.0)])
def test_a_failed_call_fails_with_its_request(store: Store, failed: bool, expected: float) -> None:
    """Only a call that failed in a request that failed counts."""
    found = row(store, root(start=0, end=5, failed=True), get(failed=failed))
    assert expected == found[n.DEPENDENCY_ERROR.name]


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"parent": "r"}, n.STORE_WAIT),
        ({"parent": "root", "attributes": {"db.system.name": "postgresql"}}, n.STORE_WAIT),
        ({"parent": "root"}, n.POOL_WAIT),
    ],
    ids=["within a search", "of a database", "of an HTTP client"],
)
def test_whose_pool_is_waited_for(store: Store, fields: dict[str, object], part: n.Signal) -> None:
    """A wait within retrieval, or for a database, is for the store's pool; any other is not."""
    start = 1.0 if fields["parent"] == "r" else 0.5
    wait = Span(id="w", name="pool wait", start=start, end=start + 0.5, **fields)  # type: ignore[arg-type]
    found = row(store, root(start=0, end=5), retrieval(id="r", parent="root", start=1, end=2), wait)
    assert pytest.approx(0.5) == found[part.name]
    assert ({n.STORE_WAIT, n.POOL_WAIT} - {part}).pop().name not in found


def test_the_silence_before_a_call(store: Store) -> None:
    """Seconds without an open call of that client; none while another is open, unknown for the first."""
    spans = []
    for trace, start, end in (("a", 0, 10), ("b", 5, 6), ("c", 30, 31)):
        spans += [
            root(trace=trace, start=start, end=end),
            chat(id="c", parent="root", trace=trace, start=start, end=end),
        ]
    found = join(store, traces(spans)).evidence.requests
    assert pytest.approx([0.0, 20.0]) == found[n.IDLE_BEFORE.name].tolist()[1:]
    assert found[n.IDLE_BEFORE.name].isna().tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"gen_ai.response.finish_reasons": "length"}, 1.0),
        ({"gen_ai.response.finish_reasons": "tool_calls", "gen_ai.request.max_tokens": 20}, 1.0),
        ({"gen_ai.response.finish_reasons": "stop", "gen_ai.request.max_tokens": 21}, 0.0),
        ({"gen_ai.request.max_tokens": 20}, 1.0),
        ({"gen_ai.response.finish_reasons": "stop"}, 0.0),
    ],
    ids=["said", "relabelled", "whole", "counted", "no limit told"],
)
def test_an_answer_that_fills_what_was_allowed_was_cut(
    store: Store, told: dict[str, str | int], expected: float
) -> None:
    """The finish reason says so, or as many tokens as were allowed."""
    call = chat(id="c", parent="root", start=1, end=2, attributes={"gen_ai.usage.output_tokens": 20, **told})
    assert expected == row(store, root(start=0, end=3), call)[n.TRUNCATED.name]
