"""Predictions put together: the logic of all, of one, and of one for each kind of symptom."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from correlator.model.evidence import Evidence, Kind
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ERROR, LATENCY
from hypotheses import Test, by_kind, either, together
from tests.hypotheses.frames import BLIND, FAILED, HELD, OPEN, evidence, outcome, rows, told

ANY = evidence(rows(request_latency=(1, 2)), symptom=LATENCY)
EVERY = (HELD, FAILED, OPEN, BLIND)


def said(value: Outcome, p: float | None = None, missing: str = "x") -> Test:
    reading = Reading(value, f"given {value}", None, p, 8, missing=(missing,) if value is BLIND else ())
    return Test(f"say {value}", lambda _: reading, (LATENCY,))


@pytest.mark.parametrize(("one", "other"), list(product(EVERY, EVERY)))
def test_all_hold_or_the_worst_counts(one: Outcome, other: Outcome) -> None:
    """One failure fails all; what cannot be read leaves it untestable, what is unclear unclear."""
    worst = next(o for o in (FAILED, BLIND, OPEN, HELD) if o in (one, other))
    assert worst == outcome(together(said(one), said(other)), ANY)


@pytest.mark.parametrize(("one", "other"), list(product(EVERY, EVERY)))
def test_one_holds_or_it_stays_open(one: Outcome, other: Outcome) -> None:
    """Only what failed in every way has failed: unclear and unreadable ways leave it open."""
    best = next(o for o in (HELD, OPEN, BLIND, FAILED) if o in (one, other))
    assert best == outcome(either(said(one), said(other)), ANY)


@pytest.mark.parametrize(
    ("first", "further", "expected"),
    [
        (FAILED, BLIND, FAILED),
        (FAILED, HELD, HELD),
        (FAILED, FAILED, FAILED),
        (BLIND, FAILED, BLIND),
        (BLIND, HELD, HELD),
        (BLIND, BLIND, BLIND),
        (HELD, FAILED, HELD),
    ],
)
def test_a_further_way_counts_only_where_it_is_measured(first: Outcome, further: Outcome, expected: Outcome) -> None:
    """What was not measured rescues nothing that failed, and refutes nothing that could not be read."""
    assert expected == outcome(either(said(first), where_measured=[said(further)]), ANY)


def test_what_would_have_told_is_named() -> None:
    """Where no way can be read, all of their signals are missing; where one holds, none is."""
    blind = either(said(BLIND, missing="a"), where_measured=[said(BLIND, missing="b")])
    assert ("a", "b") == blind.read(ANY).missing
    assert () == either(said(HELD), said(BLIND)).read(ANY).missing


def test_each_way_that_was_tried_makes_the_p_value_worth_less() -> None:
    """Of three ways two could be read: the p-value doubles, and never exceeds one."""
    assert 0.08 == either(said(HELD, 0.04), said(FAILED, 0.5), said(BLIND)).read(ANY).p_value
    assert 1.0 == either(said(HELD, 0.7), said(HELD, 0.7)).read(ANY).p_value
    assert either(said(HELD), said(FAILED, 0.5)).read(ANY).p_value is None


def test_a_whole_is_as_sure_as_its_weakest_part() -> None:
    """Of all that must hold the largest p-value counts; parts without one do not."""
    assert 0.04 == together(said(HELD, 0.001), said(HELD), said(HELD, 0.04)).read(ANY).p_value
    assert together(said(HELD), said(HELD)).read(ANY).p_value is None


def of_kind(kind: Kind | None) -> Evidence:
    symptom = replace(told(ERROR), kind=kind) if kind else None
    return replace(ANY, symptom=symptom)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (None, HELD),
        (Kind.LATENCY, HELD),
        (Kind.THROUGHPUT, HELD),
        (Kind.ERRORS, FAILED),
        (Kind.AVAILABILITY, FAILED),
        (Kind.QUALITY, OPEN),
    ],
)
def test_each_kind_of_symptom_is_asked_for_its_own(kind: Kind | None, expected: Outcome) -> None:
    """The usual prediction stands for all kinds but those that have their own; unavailable is failing altogether."""
    word = by_kind(said(HELD), {Kind.ERRORS: said(FAILED), Kind.QUALITY: said(OPEN)})
    assert expected == outcome(word, of_kind(kind))


def test_the_whole_asks_for_what_its_parts_ask_for() -> None:
    """Signals, statements and the measuring of a share are those of the parts."""
    share = replace(said(HELD), signals=(ERROR,), measures_share=True)
    for whole in (together(said(HELD), share), either(said(HELD), share), by_kind(said(HELD), {Kind.ERRORS: share})):
        assert (LATENCY, ERROR) == whole.signals
        assert whole.measures_share
        assert "say held" in whole.statement
