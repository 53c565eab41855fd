"""Words about how a signal moved or where it lay: when each holds, fails, stays open, or is untestable."""

from __future__ import annotations

import pytest

from correlator.model.evidence import BLOCK_NS
from correlator.model.findings import Outcome, Reading
from correlator.model.names import (
    CPU_PRESSURE,
    ERROR,
    HOST_CPU,
    HOST_CPU_LEFT,
    INPUT_TOKENS,
    KV_CACHE_USAGE,
    LATENCY,
    RUNNING,
    WAITING,
)
from hypotheses import (
    DOWN,
    UP,
    Test,
    nearer_to_one,
    not_fallen,
    not_grown,
    plateaus,
    precedes,
    reaches,
    rises_with,
    shifted,
    shifted_by,
    spares,
    stays_below,
)
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, OPEN, PER_BLOCK, Column, evidence, outcome, rows


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((100, 200), HELD),
        ((100, 100), FAILED),
        ((200, 100), FAILED),
        ((100, 125), HELD),
        ((100, 115), FAILED),
    ],
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


@pytest.mark.parametrize(("levels", "expected"), [((1, 1), HELD), ((1, 2), HELD), ((2, 1), FAILED)])
def test_not_fallen(levels: Column, expected: Outcome) -> None:
    """Standing still and rising are not falling."""
    assert expected == outcome(not_fallen(INPUT_TOKENS, within=1.25), evidence(rows(input_tokens=levels)))


@pytest.mark.parametrize(
    ("before", "then", "expected"),
    [
        ([0.4] * 8, [0.9] * 8, HELD),
        ([0.4] * 8, [0.4] * 8, FAILED),
        ([0.95] * 8, [0.99] * 8, HELD),
        ([0.95] * 8, [0.95] * 8, FAILED),
        ([0.95, 0.99] * 4, [0.99, 0.96] * 4, BLIND),
    ],
)
def test_nearer_to_one(before: list[float], then: list[float], expected: Outcome) -> None:
    """Use rises, or what is left falls where there was no room to rise; where neither tells, something else would."""
    use = [*before, *then]
    seen = evidence(series=rows(noise=0, host_cpu_utilization=use, host_cpu_left=[1 - u for u in use]))
    reading = nearer_to_one(HOST_CPU, HOST_CPU_LEFT, at_least=1.1, otherwise=CPU_PRESSURE).read(seen)
    assert expected == reading.outcome
    assert ((CPU_PRESSURE.name,) if expected is BLIND else ()) == reading.missing


def test_what_never_varied_was_no_trial() -> None:
    """A signal that had one value throughout failed to move, without a p-value that would make others worth less."""
    reading = shifted(INPUT_TOKENS, UP, at_least=1.25).read(evidence(rows(noise=0, input_tokens=(100, 100))))
    assert (FAILED, None) == (reading.outcome, reading.p_value)


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


def test_examples_are_of_the_incident_and_show_it_most() -> None:
    """The traces of a reading are the incident's with the largest value."""
    table = rows(input_tokens=(100, 200))
    reading: Reading = shifted(INPUT_TOKENS, UP, at_least=1.25).read(evidence(table))
    largest = table[table["start"] >= ONSET].nlargest(3, "input_tokens")["trace_id"]
    assert tuple(largest) == reading.trace_ids
