"""What each service does by itself: from spans, from logged errors, and from metrics of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from correlator.join.compare import side_by_side
from correlator.join.service_symptom import any_symptom, of_a_service
from correlator.model import names as n
from correlator.model.evidence import Evidence, Kind, Window, Windows, with_windows
from correlator.model.names import SERVICE_ERROR, SERVICE_LATENCY, SERVICE_LOGGED, SERVICE_TIME
from correlator.model.records import Batch, Signal
from correlator.store import Store
from hypotheses._scope import scope_of
from tests.correlator.join.telemetry import (
    CLIENT,
    SERVER,
    Span,
    _attributes,
    _id,
    at,
    histogram,
    join,
    metrics,
    root,
    traces,
)

EVERY, ONSET, LASTS = 2.0, 120.0, 240.0
HALVES = Windows(Window(at(0), at(ONSET)), Window(at(ONSET), at(LASTS)), given=True)


def visit(trace: str, start: float, own: float, inner: float = 0.02, failed: bool = False) -> Iterator[Span]:
    """The front calls the cart, which calls the stock; `own` is the cart's own time, and the stock fails."""
    ends = start + 0.1 + own + inner
    yield root(trace=trace, start=start, end=ends, service="front", failed=failed)
    yield Span(id="a", trace=trace, start=start + 0.02, end=ends - 0.02, parent="root", kind=CLIENT, service="front")
    yield Span(id="b", trace=trace, start=start + 0.03, end=ends - 0.03, parent="a", kind=SERVER, service="cart")
    low = start + 0.03 + own
    yield Span(id="c", trace=trace, start=low, end=low + inner, parent="b", kind=CLIENT, service="cart", failed=failed)
    inside = {"start": low + 0.001, "end": low + inner - 0.001}
    yield Span(id="d", trace=trace, parent="c", kind=SERVER, service="stock", failed=failed, **inside)


def shop(slower: float = 1.0, failing: float = 0.0) -> Batch:
    """Four minutes of a shop in whose second half the cart is slower by itself, or the stock fails."""
    chance, spans = Random(1), []
    for i in range(int(LASTS / EVERY)):
        start, since = i * EVERY, i * EVERY >= ONSET
        own = 0.05 * chance.uniform(0.9, 1.1) * (slower if since else 1.0)
        spans += visit(f"t{i}", start, own, failed=since and chance.random() < failing)
    return traces(spans)


def logged(trace: str, span: str, service: str, second: float) -> Batch:
    """A log record of an error."""
    found = ExportLogsServiceRequest()
    resource = found.resource_logs.add()
    resource.resource.attributes.extend(_attributes({"service.name": service}))
    resource.scope_logs.add().log_records.add(
        time_unix_nano=at(second), severity_number=17, trace_id=_id(trace, 16), span_id=_id(span, 8)
    )
    return Batch(Signal.LOGS, found.SerializeToString())


def compared(store: Store, *batches: Batch) -> Evidence:
    evidence = with_windows(join(store, *batches).evidence, HALVES)
    return replace(evidence, symptom=any_symptom(evidence))


def test_own_time_is_without_calls(store: Store) -> None:
    """Each service of a trace has the time that its spans took themselves; that of a call is nobody's."""
    rows = join(store, traces(visit("t", 1, own=0.5, inner=0.2))).evidence.services
    found = dict(zip(rows["service"], rows[SERVICE_TIME.name], strict=True))
    assert pytest.approx({"front": 0.04, "cart": 0.54, "stock": 0.198}, abs=1e-6) == found
    assert pytest.approx([0.8] * 3) == list(rows["whole"])


def test_the_innermost_failure_counts(store: Store) -> None:
    """Who only passes on that a callee failed did not fail by itself; a call without a callee's side is nobody's."""
    alone = [root(id="r", trace="u", start=5, end=6, service="front", failed=True)]
    alone += [Span(id="s", trace="u", start=5, end=6, parent="r", kind=CLIENT, service="front", failed=True)]
    rows = join(store, traces([*visit("t", 1, own=0.1, failed=True), *alone])).evidence.services
    assert ["stock"] == list(rows.loc[rows[SERVICE_ERROR.name] > 0, "service"])


def test_the_innermost_logged_error_counts(store: Store) -> None:
    """Of services that log an error in one trace the innermost is meant; others have none, not an unknown one."""
    told = [logged("t", "b", "cart", 1.1), logged("t", "d", "stock", 1.2)]
    rows = join(store, traces(visit("t", 1, own=0.1)), *told).evidence.services
    assert {"front": 0, "cart": 0, "stock": 1} == dict(zip(rows["service"], rows[SERVICE_LOGGED.name], strict=True))


def test_one_service_has_nobody_beside_it(store: Store) -> None:
    """Where all spans are of one service there are no rows."""
    assert join(store, traces([root(start=1, end=2)])).evidence.services.empty


def test_the_service_that_slowed_down_is_the_scope(store: Store) -> None:
    """Requests take longer at the front, but the cart's own time accounts for it."""
    evidence = compared(store, shop(slower=10))
    assert (n.LATENCY, {"service.name": "cart"}) == (evidence.symptom and evidence.symptom.signal, scope_of(evidence))


def test_the_service_that_fails_is_the_scope(store: Store) -> None:
    """Requests fail at the front, but the stock is where it begins."""
    evidence = compared(store, shop(failing=0.5))
    assert (n.ERROR, {"service.name": "stock"}) == (evidence.symptom and evidence.symptom.signal, scope_of(evidence))


def test_nobody_is_worse(store: Store) -> None:
    """Without a fault there is neither a symptom nor a scope."""
    evidence = compared(store, shop())
    assert (None, {}) == (evidence.symptom, scope_of(evidence))


def test_logged_errors_are_the_last_symptom(store: Store) -> None:
    """Where nothing else got worse, a service that logs errors is the symptom, and where."""
    told = [logged(f"t{i}", "d", "stock", i * EVERY) for i in range(60, 120, 3)]
    symptom = compared(store, shop(), *told).symptom
    assert symptom is not None
    assert (Kind.ERRORS, SERVICE_LOGGED, "stock") == (symptom.kind, symptom.signal, symptom.where)


def page(seconds: dict[str, float], begin: float, points: int, failing: dict[str, float] | None = None) -> list[Batch]:
    """A histogram of each service, a point a minute: mean latency, and the share that failed."""
    chance, batches = Random(3), []
    for service, mean in seconds.items():
        good, bad = [], []
        for i in range(points):
            failed = round(200 * (failing or {}).get(service, 0.0))
            took = mean * chance.uniform(0.95, 1.05)
            good.append((begin + 60 * i, 200 - failed, took * (200 - failed)))
            bad.append((begin + 60 * i, failed, took * failed))
        name = "http.server.request.duration"
        told = [histogram(name, rows, delta=True, **{"http.response.status_code": code})
                for rows, code in ((good, 200), (bad, 500))]  # fmt: skip
        batches.append(metrics(*told, service=service))
    return batches


def two_pages(store: Store, before: dict[str, float], after: dict[str, float], failing: dict[str, float]) -> Evidence:
    """A bundle of forty minutes before, and one of six after."""
    normal = join(store, *page(before, 60, 40)).evidence
    evidence = side_by_side(normal, join(store, *page(after, 6000, 6, failing)).evidence)
    return replace(evidence, symptom=any_symptom(evidence))


def test_services_with_metrics_are_not_pooled(store: Store) -> None:
    """How long requests take is told by the service in which they spend most; the rare one has rows of its own."""
    evidence = join(store, *page({"front": 0.5, "stock": 0.1}, 60, 10)).evidence
    latency = evidence.series[n.LATENCY.name].dropna()
    assert (latency > 0.4).all()
    rows = evidence.services.groupby("service")[SERVICE_LATENCY.name].mean().to_dict()
    assert pytest.approx({"front": 0.5, "stock": 0.1}, rel=0.05) == rows


def test_server_errors_are_read_from_the_status(store: Store) -> None:
    """Statuses of 500 and more are errors, of the service and of the requests as a whole."""
    evidence = join(store, *page({"front": 0.5, "stock": 0.1}, 60, 10, {"front": 0.25})).evidence
    errors = evidence.series[n.ERROR.name].dropna()
    assert len(errors) and np.allclose(errors, 0.25)
    rows = evidence.services.groupby("service")[SERVICE_ERROR.name].mean().to_dict()
    assert pytest.approx({"front": 0.25, "stock": 0.0}) == rows


def test_refused_requests_are_no_errors_of_the_service(store: Store) -> None:
    """A status of 404 is an answer, and without a status nothing is known of errors."""
    for code, expected in (("404", 0.0), ("", None)):
        told = {"http.response.status_code": code} if code else {}
        points = [(60.0 * i, 100, 10.0) for i in range(1, 8)]
        evidence = join(store, metrics(histogram("http.server.request.duration", points, delta=True, **told))).evidence
        errors = evidence.series[n.ERROR.name].dropna() if n.ERROR.name in evidence.series else []
        assert (expected is not None, []) == (len(errors) > 0, [e for e in errors if e != expected])


@pytest.mark.parametrize(
    ("after", "failing", "signal"),
    [
        ({"front": 0.5, "stock": 0.3}, {}, SERVICE_LATENCY),
        ({"front": 0.5, "stock": 0.1}, {"stock": 0.2}, SERVICE_ERROR),
    ],
    ids=["slow", "failing"],
)
def test_a_service_that_only_its_metric_shows(
    store: Store, after: dict[str, float], failing: dict[str, float], signal: n.Signal
) -> None:
    """A service behind the entry that got slow, or fails, is the symptom's place and its scope."""
    evidence = two_pages(store, {"front": 0.5, "stock": 0.1}, after, failing)
    assert evidence.symptom is not None
    assert (signal, "stock", {"service.name": "stock"}) == (
        evidence.symptom.signal,
        evidence.symptom.where,
        scope_of(evidence),
    )


def test_the_entry_suffers_and_the_culprit_is_the_scope(store: Store) -> None:
    """Where the entry is slower as well the symptom is the entry's, and the scope is who deviates most clearly."""
    evidence = two_pages(store, {"front": 0.5, "stock": 0.1}, {"front": 1.0, "stock": 0.6}, {})
    assert evidence.symptom is not None
    assert (n.LATENCY, "front") == (evidence.symptom.signal, evidence.symptom.where)
    assert {"service.name": "stock"} == scope_of(evidence)


def test_healthy_services_are_left_alone(store: Store) -> None:
    """The same as before is no symptom of any of them."""
    evidence = two_pages(store, {"front": 0.5, "stock": 0.1}, {"front": 0.5, "stock": 0.1}, {})
    assert (None, None) == (evidence.symptom, of_a_service(evidence))
