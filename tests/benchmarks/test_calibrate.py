"""Likelihood ratios learnt from answers: they follow the counts, are drawn where there are few, and lower the loss."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.calibrate import DRAWN, MOST, counted, learnt, loss, reweighed
from benchmarks.corpus import NONE, Seen, Told
from correlator.wiring import judgement
from hypotheses._registry import all_hypotheses

CAUSE, RIVAL = "retrieval_slow", "rerank_slow"
PREDICTIONS = {h.id: tuple(p.id for p in h.predictions) for h in all_hypotheses()}


def answer(right: str, held: Sequence[str]) -> Seen:
    """An answer on two causes, of which the predictions of those in `held` held and the others' failed."""
    findings = {
        name: Told(
            "supported" if name in held else "refuted",
            0.0,
            None,
            0.9 if name in held else None,
            dict.fromkeys(PREDICTIONS[name], "held" if name in held else "failed"),
        )
        for name in (CAUSE, RIVAL)
    }
    findings[NONE] = Told("inconclusive", 0.0, None, None, {})
    return Seen(right, 0, "recorded", 1.0, "given", (right,), True, findings)


RIGHT = [answer(CAUSE, [CAUSE]), answer(RIVAL, [RIVAL])]


def test_outcomes_are_counted_where_the_claim_is_true_and_where_it_is_not() -> None:
    """Each prediction of each cause, by what was at work."""
    counts = counted(RIGHT * 3)
    key = f"{CAUSE}.{PREDICTIONS[CAUSE][0]}"
    assert ({"held": 3}, {"failed": 3}) == (dict(counts[key, True]), dict(counts[key, False]))


def test_a_prediction_that_tells_apart_gets_a_large_ratio() -> None:
    """What held only where the claim was true speaks for it, within the bound; what failed only elsewhere against."""
    found = learnt(RIGHT * 40, judgement(), "a test")
    ratios = found.predictions[f"{CAUSE}.{PREDICTIONS[CAUSE][0]}"]
    assert 10 < ratios.held <= MOST
    assert 1 / MOST <= ratios.failed < 0.1


def test_few_incidents_move_little() -> None:
    """One incident leaves a ratio nearer to the judgement than forty do."""
    key = f"{CAUSE}.{PREDICTIONS[CAUSE][0]}"
    one, forty = (learnt(RIGHT * count, judgement(), "").predictions[key].held for count in (1, 4 * int(DRAWN)))
    assert judgement().necessary.held < one < forty


def test_what_was_learnt_fits_what_it_was_learnt_from() -> None:
    """The loss of the learnt ratios is below that of the judgement."""
    seen = RIGHT * 20 + [answer(NONE, [])] * 10
    assert loss(seen, learnt(seen, judgement(), "")) < loss(seen, judgement())


def test_answers_are_weighed_anew() -> None:
    """Probabilities of the whole answer add up to one, and none comes from the corpus."""
    (one,) = reweighed([RIGHT[0]], judgement())
    assert pytest.approx(1.0) == sum(told.probability for told in one.findings.values())
    assert one.findings[CAUSE].probability > 0.5 > one.findings[RIVAL].probability
