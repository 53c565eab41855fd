"""Scores of answers whose right ones are known: first, silence, and probabilities that mean what they say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmarks.corpus import NONE, Seen, Told
from benchmarks.scores import (
    both,
    brier,
    calibration_error,
    hit,
    ranked,
    reliability,
    said_and_was,
    share,
    sick,
    silent,
    wrong,
)


def answer(right: tuple[str, ...], supported: tuple[str, ...] = (), **chances: float) -> Seen:
    """An answer that gave these probabilities and supported these causes."""
    told = {
        name: Told("supported" if name in supported else "refuted", chance, None, None, {})
        for name, chance in chances.items()
    }
    truths = () if right == (NONE,) else right
    return Seen("fault", 0, "recorded", 1.0, "given", right, True, told, truths=truths)


FOUND = answer(("a",), ("a",), a=0.9, b=0.06, none_of_these=0.04)
MISSED = answer(("a",), ("b",), a=0.3, b=0.6, none_of_these=0.1)
CALM = answer((NONE,), (), a=0.1, none_of_these=0.9)
BLAMED = answer((NONE,), ("a",), a=0.2, none_of_these=0.8)


def test_a_way_in_which_the_cause_works_is_not_wrong() -> None:
    """A mechanism is wrong only where no right cause is its root."""
    for role, said in (("root", []), ("bystander", ["b"]), (None, ["b"])):
        told = {"a": Told("supported", 0.6, role, None, {}), "b": Told("supported", 0.4, "mechanism", None, {})}
        assert said == wrong(replace(FOUND, findings=told))
    two_roots = {name: Told("supported", 0.5, "root", None, {}) for name in ("a", "b")}
    assert ["b"] == wrong(replace(FOUND, findings=two_roots))


def test_the_most_probable_comes_first() -> None:
    """Ties go by name, so that an order is an order."""
    assert ["a", "b", "none_of_these"] == ranked(FOUND)
    assert ["a", "b"] == ranked(answer(("b",), a=0.5, b=0.5))


def test_hits_and_wrong_supports() -> None:
    """First is a hit, second only among two; what is supported beside the truth is wrong."""
    assert [True, False, True] == [hit(FOUND), hit(MISSED), hit(MISSED, 2)]
    assert [[], ["b"], ["a"]] == [wrong(FOUND), wrong(MISSED), wrong(BLAMED)]


def test_silence_is_to_support_nothing() -> None:
    """*None of these* first is not enough where a cause was supported beside it."""
    assert [True, False] == [silent(CALM), silent(BLAMED)]
    assert [True, False] == [sick(FOUND), sick(CALM)]


def test_two_causes_are_found_only_together() -> None:
    """Where two were at work, one of them supported is not both."""
    causes = ("a", "b")
    assert both(answer(causes, causes, a=0.5, b=0.4))
    assert not both(answer(causes, ("a",), a=0.5, b=0.4))


def test_a_share_of_nothing_is_no_number() -> None:
    """No incident, no score."""
    assert math.isnan(share([], hit))
    assert 0.5 == share([FOUND, MISSED], hit)


def test_probabilities_are_held_against_what_was() -> None:
    """The first finding of each answer, its probability and whether it was right, in bins."""
    pairs = said_and_was([FOUND, MISSED, CALM, BLAMED])
    assert [[0.9, 1.0], [0.6, 0.0], [0.9, 1.0], [0.8, 1.0]] == pairs.tolist()
    assert pytest.approx((0.01 + 0.36 + 0.01 + 0.04) / 4) == brier(pairs)
    assert [1, 1, 2] == [b.count for b in reliability(pairs)]
    assert pytest.approx((0.6 + 0.2 + 2 * 0.1) / 4) == calibration_error(pairs)


def test_a_crash_is_sure_and_wrong() -> None:
    """A diagnosis that did not come about counts, as the worst that could have been said."""
    pairs = said_and_was([answer(("a",)), CALM])
    assert [[1.0, 0.0], [0.9, 1.0]] == pairs.tolist()
    assert pytest.approx((1 + 0.01) / 2) == brier(pairs)
    assert not hit(answer((NONE,)))


def test_no_diagnosis_at_all_has_no_rows() -> None:
    """Nothing was said, so nothing is held against what was."""
    assert (0, 2) == said_and_was([]).shape


def test_one_who_says_what_is_has_no_error() -> None:
    """Of ten findings at 0.7 seven right: no calibration error, though each single one is off."""
    pairs = said_and_was([answer(("a",), a=0.7, b=0.3)] * 7 + [answer(("b",), a=0.7, b=0.3)] * 3)
    assert pytest.approx(0.0, abs=1e-12) == calibration_error(pairs)
    assert pytest.approx(0.21) == brier(pairs)
