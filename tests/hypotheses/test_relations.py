"""Words that tie a cause to the symptom: when each holds, fails, stays open, or is untestable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome
from correlator.model.names import ARRIVAL_RATE, GENERATION_THROUGHPUT, INPUT_TOKENS, LATENCY, QUEUE, RETRIEVAL, Signal
from hypotheses import accounts_for, fades, levels_off, precedes, rises_with, second_source_disagrees, spares
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, OPEN, PER_BLOCK, Column, evidence, outcome, rows, told


def coupled(strength: float) -> Evidence:
    rng = np.random.default_rng(2)
    table = rows(noise=0.4, input_tokens=(100, 150))
    effect = table["input_tokens"] ** strength * rng.lognormal(0, 0.2, len(table))
    return evidence(table.assign(request_latency=effect))


@pytest.mark.parametrize(("strength", "expected"), [(1.0, HELD), (-1.0, FAILED)])
def test_rises_with(strength: float, expected: Outcome) -> None:
    """More of the cause comes with more of the effect, or with less of it."""
    assert expected == outcome(rises_with(LATENCY, INPUT_TOKENS), coupled(strength))


def test_nothing_follows_a_constant() -> None:
    """A cause that had one value throughout cannot be followed."""
    seen = evidence(rows(request_latency=(1, 2)).assign(input_tokens=100.0))
    assert FAILED == outcome(rises_with(LATENCY, INPUT_TOKENS), seen)


@pytest.mark.parametrize(
    ("throughput", "expected"),
    [(lambda arrivals, noise: 500 + 0 * arrivals + noise, HELD), (lambda arrivals, noise: 50 * arrivals, FAILED)],
    ids=["at its plateau", "still rising"],
)
def test_levels_off(throughput: Callable[..., np.ndarray], expected: Outcome) -> None:
    """Within the incident more arrivals bring no more tokens, or they do; the baseline does not count."""
    table = rows(noise=0.3, arrival_rate=(2, 9))
    noise = np.random.default_rng(4).normal(0, 5, len(table))
    made = np.where(table["start"] >= ONSET, throughput(table["arrival_rate"], noise), 50 * table["arrival_rate"])
    seen = evidence(table.assign(generation_throughput=made))
    assert expected == outcome(levels_off(GENERATION_THROUGHPUT, ARRIVAL_RATE), seen)


def ledger(queue: Column, retrieval: Column, symptom: Signal | None = LATENCY) -> Evidence:
    table = rows(ledger__queue=queue, ledger__retrieval=retrieval)
    return evidence(table.assign(request_latency=table[QUEUE.name] + table[RETRIEVAL.name]), symptom=symptom)


def test_accounts_for() -> None:
    """The part that grew accounts for the symptom, the one that stayed does not, both account for all."""
    seen = ledger(queue=(0.1, 1.0), retrieval=(0.5, 0.5))
    assert HELD == outcome(accounts_for(QUEUE, at_least=0.2), seen)
    assert FAILED == outcome(accounts_for(RETRIEVAL, at_least=0.2), seen)
    both = accounts_for(QUEUE, RETRIEVAL, at_least=0.2).read(seen).effect
    assert both is not None
    assert pytest.approx(1.0) == both.value


def test_accounts_for_needs_a_symptom() -> None:
    """Where nothing is to be explained no part accounts for it."""
    seen = ledger(queue=(0.1, 1.0), retrieval=(0.5, 0.5), symptom=None)
    assert BLIND == outcome(accounts_for(QUEUE, at_least=0.2), seen)


def test_a_part_that_shrank_accounts_for_nothing() -> None:
    """A part that fell while the whole rose is not where the time went."""
    seen = ledger(queue=(0.1, 2.0), retrieval=(0.8, 0.4))
    assert FAILED == outcome(accounts_for(RETRIEVAL, at_least=0.2), seen)


def test_a_tail_is_accounted_for_by_the_slowest() -> None:
    """When the symptom is a p95, the parts of the slowest tenth are compared."""
    table = rows(ledger__queue=(0.1, 0.1), ledger__retrieval=(0.5, 0.5))
    slow = (table["start"] >= ONSET) & (table.index % PER_BLOCK == 0)
    table[QUEUE.name] = table[QUEUE.name].where(~slow, 5.0)
    table[RETRIEVAL.name] = table[RETRIEVAL.name].where(slow | (table["start"] < ONSET), 1.3)
    table = table.assign(request_latency=table[QUEUE.name] + table[RETRIEVAL.name])
    everybody = accounts_for(QUEUE, at_least=0.2).read(evidence(table, symptom=LATENCY)).effect
    seen = replace(evidence(table), symptom=told(LATENCY, "p95"))
    share = accounts_for(QUEUE, at_least=0.2).read(seen).effect
    assert everybody is not None
    assert share is not None
    assert everybody.value < 0.7
    assert share.value > 0.9


def test_spares() -> None:
    """Short prompts are spared when only long ones got slower, and not when all did."""
    table = rows(input_tokens=(100, 100))
    long_ones = (table["start"] >= ONSET) & (table.index % 2 == 0)
    table = table.assign(input_tokens=table["input_tokens"].where(~long_ones, 1000))
    word = spares(INPUT_TOKENS.below_baseline_p90)
    assert HELD == outcome(word, evidence(table.assign(request_latency=np.where(long_ones, 3.0, 1.0))))
    assert FAILED == outcome(word, evidence(table.assign(request_latency=np.where(table["start"] >= ONSET, 3.0, 1.0))))


def test_nobody_to_spare() -> None:
    """Where the incident has no request of the group, nobody can say whether it was spared."""
    seen = evidence(rows(input_tokens=(100, 1000), request_latency=(1, 3)))
    assert BLIND == outcome(spares(INPUT_TOKENS.below_baseline_p90), seen)


@pytest.mark.parametrize(("cause_at", "expected"), [(1, HELD), (3, HELD), (6, FAILED)])
def test_precedes(cause_at: int, expected: Outcome) -> None:
    """A cause leaves its range no later than its effect; the effect here leaves it in the fourth block."""
    cause = [1.0] * (8 + cause_at) + [2.0] * (8 - cause_at)
    seen = evidence(rows(noise=0.01, input_tokens=cause, request_latency=[1.0] * 11 + [2.0] * 5))
    assert expected == outcome(precedes(INPUT_TOKENS, LATENCY), seen)


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ([3.0] * 4 + [1.0] * 4, HELD),
        ([3.0] * 8, FAILED),
        ([1.0] * 4 + [3.0] * 4, FAILED),
        ([1.0] * 8, FAILED),
    ],
)
def test_fades(late: list[float], expected: Outcome) -> None:
    """What fades was there first and is gone afterwards; what was never there does not fade."""
    seen = outcome(fades(LATENCY), evidence(rows(request_latency=[1.0] * 8 + late)))
    assert seen is expected if expected is HELD else seen is not HELD


@pytest.mark.parametrize(
    ("traces", "metrics", "expected"),
    [((1, 2), (1, 1), HELD), ((1, 2), (1, 2), FAILED), ((1, 1), (1, 1), OPEN)],
)
def test_second_source_disagrees(traces: Column, metrics: Column, expected: Outcome) -> None:
    """Two sources that moved alike agree; one that moved alone disagrees; none that moved says nothing."""
    seen = evidence(rows(request_latency=traces), rows(request_latency=metrics), symptom=LATENCY)
    assert expected == outcome(second_source_disagrees(), seen)


def test_one_source_cannot_disagree() -> None:
    """Without metrics of the symptom there is no second source."""
    assert BLIND == outcome(second_source_disagrees(), evidence(rows(request_latency=(1, 2)), symptom=LATENCY))
