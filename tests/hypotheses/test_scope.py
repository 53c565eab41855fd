"""Who is hit, for symptoms that are times and for symptoms that are shares of requests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from correlator.model.evidence import Evidence, Kind
from correlator.model.findings import Outcome
from correlator.model.names import EMPTY_RETRIEVAL, ERROR, LATENCY, Signal
from hypotheses import confined_to_changed, hits_all_alike
from hypotheses._scope import scope_of
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, evidence, outcome, rows, told

KINDS = {ERROR: Kind.ERRORS, EMPTY_RETRIEVAL: Kind.QUALITY, LATENCY: Kind.LATENCY}
worse = pytest.mark.parametrize("signal", list(KINDS), ids=lambda signal: signal.name)


def split(signal: Signal, old: float, new: float, share: float = 0.4, **attribute: tuple[str, str]) -> Evidence:
    """Requests of two groups, told apart by an attribute; since the onset each is worse off by its own share."""
    ((key, names),) = (attribute or {"tenant": ("acme", "globex")}).items()
    table = rows(request_latency=(1, 1))
    since = (table["start"] >= ONSET).to_numpy()
    is_new = table.index.to_numpy() % 10 < 10 * share
    is_new &= since if key == "service__version" else np.ones(len(table), dtype=bool)
    hit = since & (np.random.default_rng(5).random(len(table)) < np.where(is_new, new, old))
    told_ = {signal.name: table[LATENCY.name] * np.where(hit, 6.0, 1.0) if signal is LATENCY else hit.astype(float)}
    found = table.assign(**told_, **{f"attribute.{key.replace('__', '.')}": np.where(is_new, names[1], names[0])})
    return evidence(found, symptom=LATENCY) if signal is LATENCY else replace(evidence(found), symptom=of(signal))


def of(signal: Signal):  # type: ignore[no-untyped-def]
    return replace(told(signal), kind=KINDS[signal])


@worse
def test_the_scope_is_that_of_the_symptom(signal: Signal) -> None:
    """Where only one tenant is slower, fails or gets worse answers, it is named; where both do, nobody is."""
    assert {"tenant": "globex"} == scope_of(split(signal, old=0.0, new=0.6))
    assert {} == scope_of(split(signal, old=0.5, new=0.5))


@worse
@pytest.mark.parametrize(("old", "expected"), [(0.0, HELD), (0.5, FAILED)])
def test_confined_to_what_changed(signal: Signal, old: float, expected: Outcome) -> None:
    """Only the new version is worse off, or the old one of the same time as well."""
    seen = split(signal, old=old, new=0.6, share=0.5, service__version=("1", "2"))
    assert expected == outcome(confined_to_changed(), seen)


@worse
def test_all_alike(signal: Signal) -> None:
    """Both tenants are hit, or one is spared."""
    assert HELD == outcome(hits_all_alike(), split(signal, old=0.6, new=0.6))
    assert FAILED == outcome(hits_all_alike(), split(signal, old=0.0, new=0.6))


def test_nobody_to_compare() -> None:
    """Requests that nothing tells apart cannot be said to be hit alike."""
    seen = split(ERROR, old=0.6, new=0.6)
    alone = replace(seen, requests=seen.requests.drop(columns="attribute.tenant"))
    assert BLIND == outcome(hits_all_alike(), alone)


def test_a_throughput_has_no_scope() -> None:
    """Throughput is of the whole system: no request has it."""
    seen = split(LATENCY, old=0.0, new=0.6)
    assert seen.symptom is not None
    fallen = replace(seen.symptom, kind=Kind.THROUGHPUT, signal=Signal("generation_throughput", "{token}/s", ""))
    assert {} == scope_of(replace(seen, symptom=fallen))


@pytest.mark.parametrize("signal", [ERROR, EMPTY_RETRIEVAL], ids=lambda signal: signal.name)
def test_a_share_that_only_the_series_has_tells_nobody_apart(signal: Signal) -> None:
    """Requests with attributes, but without the symptom's own signal, leave open who is hit."""
    whole = split(signal, old=0.0, new=0.6, service__version=("1.0", "1.1"))
    series = whole.requests[["start", "host", "period", "block", signal.name]]
    blind = replace(whole, requests=whole.requests.drop(columns=[signal.name]), series=series)
    assert {BLIND} == {outcome(hits_all_alike(), blind), outcome(confined_to_changed(), blind)}
    assert {} == scope_of(blind)
