"""The engine against itself: worlds in which nothing happened, and answers under attack."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from correlator.model.evidence import Evidence, Kind
from hypotheses._registry import all_hypotheses
from tests.hypotheses.claims import GREW, engine, supported
from tests.hypotheses.evidence import could_be_supported, only_series, served, switched, window

NULL_WORLDS = 200


def null_worlds() -> Iterator[Evidence]:
    """Healthy windows in which load, prompts and speed drift as they do between any two; a user sees a symptom."""
    for seed in range(NULL_WORLDS):
        rng = np.random.default_rng(seed)
        speed, tokens, load = rng.lognormal(0, [0.1, 0.08, 0.15])
        then = served(
            input_tokens=300 * tokens,
            per_block=12 * load,
            time_per_output_token=0.005 * speed,
            prefill_per_token=0.0003 * speed,
            network=0.01 * speed,
            retrieval=0.04 * speed,
            queue=0.01 * speed * load,
        )
        facts = switched("engine.model", "a", "b") if seed % 2 else ()
        yield window(served(), then=then, blocks=8, seed=seed, facts=facts, kind=Kind.LATENCY)


def test_null_worlds_have_no_cause() -> None:
    """In at most 2 % of two hundred worlds in which nothing happened is any cause supported."""
    suspicious = [w for w in null_worlds() if any(could_be_supported(h, w) for h in all_hypotheses())]
    accused = [supported(engine().answer(world, attack=False)) for world in suspicious]
    assert len([ids for ids in accused if ids]) <= 0.02 * NULL_WORLDS, accused


def test_the_answer_is_attacked() -> None:
    """Onset moved either way, traces or metrics gone, blocks drawn anew: runs are counted, and what moved is named."""
    stability = engine().answer(GREW).stability
    assert 6 == stability.runs
    assert stability.runs == stability.top_kept + len(stability.changed_by)
    assert stability.top_kept >= stability.runs // 2
    assert 0 < stability.onset_shift_s <= 60


def test_a_cause_that_only_traces_show_is_moved_by_their_absence() -> None:
    """The attack says which piece of evidence the first finding rests on."""
    moved = engine().answer(GREW).stability.changed_by
    assert any(name.startswith("without traces") for name in moved)


def test_metrics_alone_are_enough_for_an_attack() -> None:
    """Evidence without a single trace is answered and attacked as well."""
    answer = engine().answer(only_series(GREW))
    assert pytest.approx(1.0) == sum(f.probability for f in answer.findings)
    assert 5 == answer.stability.runs
