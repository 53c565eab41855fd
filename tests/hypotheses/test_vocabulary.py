"""The words in which predictions are made: when each holds, fails, stays open, or cannot be tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from correlator.model.evidence import (
    BLOCK_NS,
    Coverage,
    Event,
    Evidence,
    Fact,
    Interval,
    Kind,
    Symptom,
    Window,
    Windows,
    with_windows,
)
from correlator.model.findings import Outcome, Reading
from correlator.model.names import (
    ERROR,
    INPUT_TOKENS,
    KV_CACHE_USAGE,
    LATENCY,
    QUEUE,
    RETRIEVAL,
    RUNNING,
    WAITING,
    Signal,
)
from hypotheses import (
    DOWN,
    UP,
    Test,
    accounts_for,
    changed,
    confined_to_changed,
    fades,
    not_grown,
    occurs,
    plateaus,
    precedes,
    reaches,
    rises_with,
    second_source_disagrees,
    shifted,
    shifted_by,
    spares,
    stays_below,
)

BEGIN, BLOCKS, PER_BLOCK = 1_700_000_000_000_000_000, 8, 6
ONSET = BEGIN + BLOCKS * BLOCK_NS
END = ONSET + BLOCKS * BLOCK_NS
NOISE = 0.05

Column = tuple[float, float] | list[float]
HELD, FAILED, OPEN, BLIND = Outcome.HELD, Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.UNTESTABLE


def rows(noise: float = NOISE, **columns: Column) -> pd.DataFrame:
    """Six rows a block; a column is its two levels, or one level for each of the sixteen blocks."""
    rng = np.random.default_rng(1)
    block = np.repeat(np.arange(2 * BLOCKS), PER_BLOCK)
    out = pd.DataFrame({"start": BEGIN + block * BLOCK_NS + np.tile(np.arange(PER_BLOCK), 2 * BLOCKS), "host": "a"})
    for name, levels in columns.items():
        by_block = np.repeat(levels, BLOCKS) if len(levels) == 2 else np.asarray(levels)
        out[name.replace("__", ".")] = by_block[block] * rng.lognormal(0, noise, len(block))
    return out.assign(trace_id=[f"t{i}" for i in range(len(out))])


def evidence(
    requests: pd.DataFrame | None = None,
    series: pd.DataFrame | None = None,
    *,
    events: tuple[Event, ...] = (),
    facts: tuple[Fact, ...] = (),
    watched: frozenset[str] = frozenset(),
    symptom: Signal | None = None,
) -> Evidence:
    empty = rows().iloc[:0]
    joined = Evidence(
        requests=empty if requests is None else requests,
        series=empty if series is None else series.drop(columns="trace_id"),
        events=events,
        facts=facts,
        coverage=Coverage(watched=watched),
    )
    found = None if symptom is None else told(symptom)
    return replace(with_windows(joined, Windows(Window(BEGIN, ONSET), Window(ONSET, END))), symptom=found)


def told(signal: Signal, statistic: str = "mean") -> Symptom:
    kind = Kind.ERRORS if signal is ERROR else Kind.LATENCY
    return Symptom(kind, "chat", signal, statistic, ONSET, 1.0, 2.0, Interval(2.0, 1.8, 2.2))


def outcome(test: Test, seen: Evidence) -> Outcome:
    reading = test.read(seen)
    assert reading.reason
    return reading.outcome


@pytest.mark.parametrize(
    ("levels", "expected"),
    [((100, 200), HELD), ((100, 100), FAILED), ((200, 100), FAILED), ((100, 125), HELD), ((100, 115), FAILED)],
)
def test_shifted(levels: Column, expected: Outcome) -> None:
    """A rise is held when it reaches the smallest one worth naming, and failed when it surely does not."""
    assert expected == outcome(shifted(INPUT_TOKENS, UP, at_least=1.25), evidence(rows(input_tokens=levels)))


@pytest.mark.parametrize(("levels", "expected"), [((200, 100), HELD), ((100, 100), FAILED), ((100, 200), FAILED)])
def test_shifted_down(levels: Column, expected: Outcome) -> None:
    """A fall is a rise seen from the other side."""
    assert expected == outcome(shifted(INPUT_TOKENS, DOWN, at_least=1.25), evidence(rows(input_tokens=levels)))


def test_shifted_stays_open_where_blocks_disagree() -> None:
    """Blocks that go up and down by more than the shift leave it open, however many rows they have."""
    wild = [50.0, 200, 60, 180, 70, 160, 90, 140, 70, 260, 60, 240, 80, 200, 100, 190]
    assert OPEN == outcome(shifted(INPUT_TOKENS, UP, at_least=1.25), evidence(rows(input_tokens=wild)))


@pytest.mark.parametrize("statistic", ["median", "p10"])
def test_shifted_by_another_statistic(statistic: str) -> None:
    """A few huge values move the mean and neither the median nor the cheapest tenth."""
    table = rows(input_tokens=(100, 100))
    last_of_block = (table.index % PER_BLOCK == 0) & (table["start"] >= ONSET)
    seen = evidence(table.assign(input_tokens=table["input_tokens"].where(~last_of_block, 2000)))
    assert HELD == outcome(shifted(INPUT_TOKENS, UP, at_least=1.25), seen)
    assert FAILED == outcome(shifted(INPUT_TOKENS, UP, at_least=1.25, statistic=statistic), seen)


@pytest.mark.parametrize(("levels", "expected"), [((0.0, 0.2), HELD), ((0.0, 0.01), FAILED), ((0.2, 0.0), FAILED)])
def test_shifted_by(levels: Column, expected: Outcome) -> None:
    """A share may start at zero, so it is its difference that is judged."""
    assert expected == outcome(shifted_by(ERROR, UP, at_least=0.05), evidence(rows(error=levels)))


@pytest.mark.parametrize(("levels", "expected"), [((1, 1), HELD), ((2, 1), HELD), ((1, 2), FAILED)])
def test_not_grown(levels: Column, expected: Outcome) -> None:
    """Standing still and falling are not growing."""
    assert expected == outcome(not_grown(INPUT_TOKENS, within=1.25), evidence(rows(input_tokens=levels)))


@pytest.mark.parametrize(
    "test",
    [
        shifted(INPUT_TOKENS, UP, at_least=1.25),
        shifted_by(INPUT_TOKENS, UP, at_least=1),
        not_grown(INPUT_TOKENS, within=1.25),
        reaches(INPUT_TOKENS, 100),
        rises_with(LATENCY, INPUT_TOKENS),
        spares(INPUT_TOKENS.below_baseline_p90),
        precedes(INPUT_TOKENS, LATENCY),
        stays_below(INPUT_TOKENS, 1, while_positive=LATENCY),
        plateaus(INPUT_TOKENS, while_positive=LATENCY),
    ],
    ids=lambda test: test.statement,
)
def test_what_was_not_measured_is_named(test: Test) -> None:
    """Without its signal every word is untestable and says which signal is missing."""
    reading = test.read(evidence(rows(request_latency=(1, 2)), symptom=LATENCY))
    assert BLIND == reading.outcome
    assert (INPUT_TOKENS.name,) == reading.missing
    assert reading.effect is None


def test_a_signal_of_one_window_only_is_missing() -> None:
    """A signal that began to be measured with the incident cannot be compared."""
    table = rows(input_tokens=(100, 200))
    late = evidence(table.assign(input_tokens=table["input_tokens"].where(table["start"] >= ONSET)))
    assert BLIND == outcome(shifted(INPUT_TOKENS, UP, at_least=1.25), late)


def test_two_blocks_are_too_few() -> None:
    """With two blocks in a window nothing is held or failed, whatever the size of the effect."""
    table = rows(input_tokens=(100, 1000))
    short = evidence(table[table["start"] >= ONSET - 2 * BLOCK_NS])
    assert BLIND == outcome(shifted(INPUT_TOKENS, UP, at_least=1.25), short)


def test_requests_are_read_before_series() -> None:
    """Where both frames have the signal the finer one answers; where only series has it, series does."""
    fine, coarse = rows(input_tokens=(100, 100)), rows(input_tokens=(100, 300))
    grew = shifted(INPUT_TOKENS, UP, at_least=1.25)
    assert FAILED == outcome(grew, evidence(fine, coarse))
    assert HELD == outcome(grew, evidence(rows(request_latency=(1, 1)), coarse))


def test_failing_fast_is_not_being_fast() -> None:
    """Latency is that of answered requests as long as most are answered."""
    table = rows(request_latency=(1, 1))
    failed = (table["start"] >= ONSET) & (table.index % 3 == 0)
    seen = table.assign(error=failed.astype(float), request_latency=table["request_latency"].where(~failed, 0.01))
    assert FAILED == outcome(shifted(LATENCY, DOWN, at_least=1.1), evidence(seen))


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [([0.97] * 8, HELD), ([0.5] * 8, FAILED), ([0.97] + [0.5] * 7, OPEN), ([0.97] * 2 + [0.5] * 6, HELD)],
)
def test_reaches(peaks: list[float], expected: Outcome) -> None:
    """A level met in two blocks was reached, met in one it may be a blip, never met it was not."""
    seen = evidence(series=rows(noise=0, kv_cache_usage=[0.5] * 8 + peaks))
    assert expected == outcome(reaches(KV_CACHE_USAGE, 0.9), seen)


def test_reaches_looks_at_the_incident_only() -> None:
    """A level reached in the baseline is not a level reached in the incident."""
    assert FAILED == outcome(reaches(KV_CACHE_USAGE, 0.9), evidence(series=rows(kv_cache_usage=(0.97, 0.5))))


@pytest.mark.parametrize(
    ("usage", "expected"),
    [([0.4] * 8, HELD), ([0.95] * 8, FAILED), ([0.4] * 6 + [0.95] * 2, OPEN)],
)
def test_stays_below(usage: list[float], expected: Outcome) -> None:
    """Only the readings in which something waited count."""
    seen = evidence(series=rows(noise=0, kv_cache_usage=[0.99] * 8 + usage, waiting_requests=[0] * 8 + [3] * 8))
    assert expected == outcome(stays_below(KV_CACHE_USAGE, 0.8, while_positive=WAITING), seen)


@pytest.mark.parametrize(
    ("running", "expected"),
    [([16] * 8, HELD), ([2, 4, 6, 8, 16, 3, 5, 7], FAILED), ([16] * 4 + [8] * 4, OPEN)],
)
def test_plateaus(running: list[float], expected: Outcome) -> None:
    """A cap is a value met again and again, not the largest of many."""
    seen = evidence(series=rows(noise=0, running_requests=[4] * 8 + running, waiting_requests=[0] * 8 + [3] * 8))
    assert expected == outcome(plateaus(RUNNING, while_positive=WAITING), seen)


@pytest.mark.parametrize("word", [stays_below(KV_CACHE_USAGE, 0.8, WAITING), plateaus(KV_CACHE_USAGE, WAITING)])
def test_a_state_that_never_occurred_refutes(word: Test) -> None:
    """Where nobody ever waited, waiting explains nothing."""
    seen = evidence(series=rows(kv_cache_usage=(0.4, 0.4), waiting_requests=(0, 0)))
    assert FAILED == outcome(word, seen)


@pytest.mark.parametrize("word", [stays_below(KV_CACHE_USAGE, 0.8, WAITING), plateaus(KV_CACHE_USAGE, WAITING)])
def test_a_state_of_one_block_decides_nothing(word: Test) -> None:
    """Waiting seen in one block only is one observation, however often it was read."""
    seen = evidence(series=rows(noise=0, kv_cache_usage=(0.4, 0.4), waiting_requests=[0] * 8 + [3] + [0] * 7))
    assert HELD != outcome(word, seen)


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
    table = table.assign(request_latency=table[QUEUE.name] + table[RETRIEVAL.name])
    seen = replace(evidence(table), symptom=told(LATENCY, "p95"))
    share = accounts_for(QUEUE, at_least=0.2).read(seen).effect
    assert share is not None
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
    [([3.0] * 4 + [1.0] * 4, HELD), ([3.0] * 8, FAILED), ([1.0] * 4 + [3.0] * 4, FAILED), ([1.0] * 8, FAILED)],
)
def test_fades(late: list[float], expected: Outcome) -> None:
    """What fades was there first and is gone afterwards; what was never there does not fade."""
    seen = outcome(fades(LATENCY), evidence(rows(request_latency=[1.0] * 8 + late)))
    assert seen is expected if expected is HELD else seen is not HELD


@pytest.mark.parametrize(
    ("traces", "metrics", "expected"), [((1, 2), (1, 1), HELD), ((1, 2), (1, 2), FAILED), ((1, 1), (1, 1), OPEN)]
)
def test_second_source_disagrees(traces: Column, metrics: Column, expected: Outcome) -> None:
    """Two sources that moved alike agree; one that moved alone disagrees; none that moved says nothing."""
    seen = evidence(rows(request_latency=traces), rows(request_latency=metrics), symptom=LATENCY)
    assert expected == outcome(second_source_disagrees(), seen)


def test_one_source_cannot_disagree() -> None:
    """Without metrics of the symptom there is no second source."""
    assert BLIND == outcome(second_source_disagrees(), evidence(rows(request_latency=(1, 2)), symptom=LATENCY))


LOG = frozenset({"engine_log"})


def happened(*seconds: float) -> tuple[Event, ...]:
    return tuple(Event("preemption", ONSET + int(s * 1e9), "", f"t{i}") for i, s in enumerate(seconds))


@pytest.mark.parametrize(
    ("events", "watched", "expected"),
    [
        (happened(5, 6), LOG, HELD),
        (happened(5, 6), frozenset(), HELD),
        (happened(), LOG, FAILED),
        (happened(-5, -6, 5), LOG, FAILED),
        (happened(90), LOG, FAILED),
        (happened(), frozenset(), BLIND),
        (happened(), frozenset({"traces"}), BLIND),
    ],
)
def test_occurs(events: tuple[Event, ...], watched: frozenset[str], expected: Outcome) -> None:
    """An event is seen or not; only a source that would have shown it can say that it did not happen."""
    seen = evidence(rows(request_latency=(1, 2)), events=events, watched=watched)
    assert expected == outcome(occurs("preemption", seen_by=LOG), seen)


def test_a_start_counts_by_itself() -> None:
    """One start since the baseline counts, even when there was one in the baseline."""
    seen = evidence(rows(request_latency=(1, 2)), events=happened(-60, 5), watched=LOG)
    assert HELD == outcome(occurs("preemption", seen_by=LOG, often=False), seen)
    assert FAILED == outcome(occurs("preemption", seen_by=LOG), seen)


def test_an_event_names_its_traces() -> None:
    """The traces in which it happened are there to be opened."""
    seen = evidence(rows(request_latency=(1, 2)), events=happened(1, 2))
    assert ("t0", "t1") == occurs("preemption", seen_by=LOG).read(seen).trace_ids


def known(*facts: tuple[str, str, float]) -> Evidence:
    seen = tuple(Fact(name, value, ONSET + int(s * 1e9)) for name, value, s in facts)
    return evidence(rows(request_latency=(1, 2)), facts=seen)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([("engine.model", "a", -50), ("engine.model", "b", 1)], HELD),
        ([("engine.model", "a", -50)], FAILED),
        ([("engine.model", "a", -50), ("engine.model", "a", 1)], FAILED),
        ([("engine.model", "a", -60), ("engine.model", "b", -50)], FAILED),
        ([("engine.model", "b", 1)], BLIND),
        ([("engine.dtype", "x", -50), ("engine.dtype", "y", 1)], BLIND),
        ([], BLIND),
    ],
)
def test_changed(facts: list[tuple[str, str, float]], expected: Outcome) -> None:
    """A value holds until another is seen; one that was first seen afterwards has no before."""
    assert expected == outcome(changed("engine.model"), known(*facts))


def test_a_flag_that_appears_at_a_second_start_has_changed() -> None:
    """Two start-up logs that name what differs from the defaults settle a flag that only one of them names."""
    starts = [("engine.version", "0.9", -50.0), ("engine.version", "0.9", 1.0)]
    assert HELD == outcome(changed("engine.max_num_seqs"), known(*starts, ("engine.max_num_seqs", "4", 1)))


def versions(old: float, new: float, share: float = 0.5) -> Evidence:
    table = rows(request_latency=(1, 1))
    is_new = (table["start"] >= ONSET) & (table.index % 10 < 10 * share)
    in_incident = np.where(is_new, new, old)
    slower = np.where(table["start"] >= ONSET, in_incident, 1.0)
    version = np.where(is_new, "2", "1")
    return evidence(
        table.assign(**{"attribute.service.version": version, "request_latency": table["request_latency"] * slower})
    )


@pytest.mark.parametrize(("old", "new", "expected"), [(1.0, 3.0, HELD), (3.0, 3.0, FAILED), (1.0, 1.0, OPEN)])
def test_confined_to_changed(old: float, new: float, expected: Outcome) -> None:
    """What changed is to blame only where what did not change was spared."""
    assert expected == outcome(confined_to_changed(), versions(old, new))


def test_nobody_left_to_compare_with() -> None:
    """When everything changed at once, the change cannot be told from the time."""
    assert BLIND == outcome(confined_to_changed(), versions(1.0, 3.0, share=1.0))


def test_examples_are_of_the_incident_and_show_it_most() -> None:
    """The traces of a reading are the incident's with the largest value."""
    table = rows(input_tokens=(100, 200))
    reading: Reading = shifted(INPUT_TOKENS, UP, at_least=1.25).read(evidence(table))
    largest = table[table["start"] >= ONSET].nlargest(3, "input_tokens")["trace_id"]
    assert tuple(largest) == reading.trace_ids
