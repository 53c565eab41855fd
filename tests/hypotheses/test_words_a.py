"""Words about settings, marks, memory and slow tokens: what each holds on, fails on and leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from correlator.model.evidence import Event, Fact, Kind
from correlator.model.names import (
    BATCH_SIZE,
    DECODE,
    GENERATION_THROUGHPUT,
    LATENCY,
    PROCESS_MEMORY,
    SPEC_REJECTED,
    STRUCTURED,
    Events,
)
from hypotheses import (
    climbs,
    engine_accounts,
    exceeds,
    larger,
    lowered,
    moved_to,
    resets_at_start,
    set_to,
    slower_with,
    spares_unmarked,
    tokens_slower,
)
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, OPEN, evidence, outcome, rows, told

S = 10**9
EAGER = set_to("engine.enforce_eager", "True", kind="eager mode")
LIMIT = "engine.max_cudagraph_capture_size"


def fact(name: str, value: str, after: float) -> Fact:
    return Fact(name, value, ONSET + int(after * S), "engine")


def was(name: str, before: str, after: str) -> tuple[Fact, Fact]:
    return fact(name, before, -50), fact(name, after, 1)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (was("engine.enforce_eager", "False", "true"), HELD),
        (was("engine.enforce_eager", "True", "False"), FAILED),
        (was("engine.enforce_eager", "True", "True"), FAILED),
        ((fact("engine.enforce_eager", "True", 1),), BLIND),
    ],
    ids=["turned on", "turned off", "on all along", "seen afterwards only"],
)
def test_a_setting_was_set_to_a_value(facts: tuple[Fact, ...], expected: str) -> None:
    """The change and its direction count; a value seen only afterwards says nothing."""
    assert expected == outcome(EAGER, evidence(rows(request_latency=(1, 2)), facts=facts))


@pytest.mark.parametrize(
    ("before", "after", "expected"), [("512", "64", HELD), ("64", "512", FAILED), ("default", "64", BLIND)]
)
def test_a_number_was_lowered(before: str, after: str, expected: str) -> None:
    """Between a default and a number nothing is said."""
    word = moved_to(LIMIT, "the largest captured batch", lower=True)
    assert expected == outcome(word, evidence(rows(request_latency=(1, 2)), facts=was(LIMIT, before, after)))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("256", "64", HELD),
        ("64", "256", FAILED),
        ("", "64", HELD),
        ("", "256", OPEN),
        ("64", "64", FAILED),
    ],
    ids=["lower", "higher", "below any default", "a default may be more", "the same"],
)
def test_a_limit_was_lowered_from_a_default(before: str, after: str, expected: str) -> None:
    """A start-up log leaves out a default of 128 at least: only below that a number settles which way it went."""
    started = [fact(name, "x", at) for at in (-50, 1) for name in ("engine.version", "engine.model")]
    given = [fact(LIMIT, value, at) for value, at in ((before, -50), (after, 1)) if value]
    facts = tuple(sorted([*started, *given], key=lambda one: one.unix_nano))
    word = lowered(LIMIT, "the limit", default=128)
    assert expected == outcome(word, evidence(rows(request_latency=(1, 2)), facts=facts))


@pytest.mark.parametrize(
    ("levels", "limit", "expected"),
    [((6, 12), "8", HELD), ((12, 12), "8", FAILED), ((6, 7), "8", FAILED), ((6, 12), "", BLIND)],
    ids=["now beyond", "beyond all along", "below", "limit not known"],
)
def test_a_load_went_beyond_a_limit(levels: tuple[float, float], limit: str, expected: str) -> None:
    """Only what was not so before counts."""
    facts = (fact(LIMIT, limit, -50),) if limit else ()
    seen = evidence(series=rows(batch_size=levels), facts=facts)
    assert expected == outcome(exceeds(BATCH_SIZE, LIMIT), seen)


def test_one_setting_is_larger_than_another() -> None:
    """Both have to be known."""
    word, table = larger("engine.max_model_len", than="engine.kv_cache_tokens"), rows(request_latency=(1, 2))
    length, pool = fact("engine.max_model_len", "32768", -50), fact("engine.kv_cache_tokens", "20000", -50)
    assert HELD == outcome(word, evidence(table, facts=(length, pool)))
    assert FAILED == outcome(word, evidence(table, facts=(length, replace(pool, value="65536"))))
    assert BLIND == outcome(word, evidence(table, facts=(length,)))


def test_requests_without_a_mark_are_spared() -> None:
    """The mark is one of single requests: a share told by metrics says nothing of who was spared."""
    table = rows(request_latency=(1, 1))
    mark = np.arange(len(table)) % 3 == 0
    during = table["start"] >= ONSET
    slow = table.assign(request_latency=np.where(mark & during, 4.0, 1.0), structured_output=mark.astype(float))
    word = spares_unmarked(STRUCTURED)
    assert HELD == outcome(word, evidence(slow))
    assert FAILED == outcome(word, evidence(slow.assign(request_latency=np.where(during, 4.0, 1.0))))
    assert BLIND == outcome(word, evidence(slow.assign(structured_output=1.0)))
    assert BLIND == outcome(word, evidence(series=slow))


def memory(*levels: float, noise: float = 0.002) -> object:
    return rows(noise=noise, process_memory=list(levels))


CLIMB = [10.0 + i for i in range(16)]
STEP = [10.0] * 8 + [20.0] * 8


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (CLIMB, HELD),
        (STEP, FAILED),
        ([10.0] * 8 + CLIMB[:8], FAILED),
        ([100 + 0.1 * i for i in range(16)], FAILED),
        (CLIMB[::-1], FAILED),
    ],
    ids=["steadily", "in one step", "since the onset only", "by next to nothing", "falling"],
)
def test_memory_climbs(levels: list[float], expected: str) -> None:
    """Growth that began long before anybody noticed, and never stopped."""
    assert expected == outcome(climbs(PROCESS_MEMORY), evidence(series=memory(*levels)))


def test_a_restart_takes_memory_back() -> None:
    """A saw-tooth still climbs, tooth by tooth; without a restart nothing is known of resets."""
    teeth = [*CLIMB[:10], *CLIMB[:6]]
    start = Event(Events.ENGINE_START, ONSET + 18 * S)
    seen = evidence(series=memory(*teeth), events=(start,))
    word = resets_at_start(PROCESS_MEMORY)
    assert (HELD, HELD) == (outcome(word, seen), outcome(climbs(PROCESS_MEMORY), seen))
    assert FAILED == outcome(word, evidence(series=memory(*CLIMB), events=(start,)))
    assert BLIND == outcome(word, evidence(series=memory(*CLIMB)))


FEWER = {"generation_throughput": (200.0, 100.0), "running_requests": (4.0, 4.0)}


def test_fewer_tokens_from_the_same_batch_are_slower_ones() -> None:
    """What was measured counts first; a batch that shrank, or tokens that did not fall, tell nothing."""
    word = tokens_slower(1.1)
    assert HELD == outcome(word, evidence(series=rows(**FEWER)))
    assert FAILED == outcome(word, evidence(series=rows(**FEWER, time_per_output_token=(0.01, 0.01))))
    assert BLIND == outcome(word, evidence(series=rows(**FEWER | {"running_requests": (4.0, 2.0)})))
    assert BLIND == outcome(word, evidence(series=rows(**FEWER | {"generation_throughput": (200.0, 200.0)})))


def test_batch_over_tokens_follows_the_cause() -> None:
    """Where nobody timed tokens the quotient does; a cause that does not move tells nothing."""
    word = slower_with(SPEC_REJECTED)
    assert HELD == outcome(word, evidence(series=rows(**FEWER, spec_rejected=(0.3, 0.6))))
    assert BLIND == outcome(word, evidence(series=rows(**FEWER, spec_rejected=(0.3, 0.3))))
    assert BLIND == outcome(word, evidence(series=rows(**FEWER)))


def test_fewer_tokens_are_accounted_for_by_their_slowness() -> None:
    """Of a symptom of throughput without a ledger; one of latency needs the ledger."""
    seen = evidence(series=rows(**FEWER), symptom=GENERATION_THROUGHPUT)
    throughput = replace(seen, symptom=replace(told(GENERATION_THROUGHPUT), kind=Kind.THROUGHPUT))
    assert HELD == outcome(engine_accounts(DECODE), throughput)
    assert BLIND == outcome(engine_accounts(DECODE), replace(seen, symptom=told(LATENCY)))
