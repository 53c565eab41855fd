"""Words about configuration, lost telemetry and the prefix cache: when each holds, fails or is untestable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from correlator.model.evidence import Coverage, Event, Evidence, Fact
from correlator.model.findings import Outcome
from correlator.model.names import ERROR, Events
from hypotheses import began_with_change, cached_less, changed, not_lowered, records_lost
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, OPEN, evidence, outcome, rows

LIMIT = "engine.max_num_seqs"
STARTED = [(name, "0.9", at) for at in (-50.0, 1.0) for name in ("engine.version", "engine.model")]
Facts = list[tuple[str, str, float]]


def known(facts: Facts) -> tuple[Fact, ...]:
    ordered = sorted(facts, key=lambda fact: fact[2])
    return tuple(Fact(name, value, ONSET + int(seconds * 1e9)) for name, value, seconds in ordered)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([(LIMIT, "64", -50), (LIMIT, "4", 1)], FAILED),
        ([(LIMIT, "64", -50), (LIMIT, "256", 1)], HELD),
        ([(LIMIT, "64", -50)], HELD),
        (STARTED, HELD),
        ([*STARTED, (LIMIT, "4", 1)], OPEN),
        ([(LIMIT, "4", 1)], BLIND),
        ([], BLIND),
    ],
)
def test_not_lowered(facts: Facts, expected: Outcome) -> None:
    """A limit is compared as a number; between the default and a number, which is lower is not known."""
    assert expected == outcome(not_lowered(LIMIT), evidence(rows(request_latency=(1, 2)), facts=known(facts)))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([*STARTED, (LIMIT, "4", -49)], HELD),
        ([*STARTED, (LIMIT, "4", -49), (LIMIT, "4", 2)], FAILED),
        ([*STARTED[:2], (LIMIT, "4", -49)], BLIND),
    ],
    ids=["no longer named", "named again", "started without a word"],
)
def test_a_flag_that_a_new_start_no_longer_names_is_at_its_default(facts: Facts, expected: Outcome) -> None:
    """A start that states version and model states the flags, too; one that says nothing may have any."""
    begun = tuple(Event(Events.ENGINE_START, ONSET + int(at * 1e9), "vllm") for at in (-50, 1))
    logged = tuple(replace(fact, resource="engine") for fact in known(facts))
    seen = replace(evidence(rows(request_latency=(1, 2)), facts=logged), events=begun)
    assert expected == outcome(changed(LIMIT), seen)


def failing(since: int, changed_at: float | None) -> Evidence:
    """Failures from a block of the sixteen on, and a model that changes at a second from the onset."""
    facts = [("model", "a", -79.0)] + ([] if changed_at is None else [("model", "b", changed_at)])
    table = rows(noise=0, error=[0.0] * since + [0.5] * (16 - since))
    return evidence(table, facts=known(facts), symptom=ERROR)


@pytest.mark.parametrize(
    ("since", "changed_at", "expected"),
    [(8, 0.0, HELD), (8, -30.0, HELD), (8, 60.0, FAILED), (15, 0.0, FAILED), (8, None, BLIND), (16, 0.0, OPEN)],
)
def test_began_with_change(since: int, changed_at: float | None, expected: Outcome) -> None:
    """The symptom begins within a minute after the change; one that was there before, or came much later, did not."""
    assert expected == outcome(began_with_change("model"), failing(since, changed_at))


def test_what_is_no_symptom_began_never() -> None:
    """Without a symptom there is nothing that could have begun."""
    assert BLIND == outcome(began_with_change("model"), replace(failing(8, 0.0), symptom=None))


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        ({"rejected": 30}, HELD),
        ({"malformed": 10, "bad_time": 10, "truncated": 10}, HELD),
        ({"rejected": 3}, FAILED),
        ({"duplicate": 500, "unsupported": 500}, FAILED),
        ({}, FAILED),
    ],
)
def test_records_lost(problems: dict[str, int], expected: Outcome) -> None:
    """Records that were broken or refused were lost; copies that were dropped and other files were not."""
    coverage = Coverage(records={"spans": 970}, problems=problems)
    assert expected == outcome(records_lost(at_least=0.02), replace(evidence(), coverage=coverage))


def test_nobody_counted() -> None:
    """Where neither records nor losses were counted nothing is known about losses."""
    assert BLIND == outcome(records_lost(at_least=0.02), evidence())


@pytest.mark.parametrize(
    ("state", "facts", "words"),
    [
        ({"prefix_cache_queries": (900, 900)}, [], "became unique"),
        ({"prefix_cache_queries": (900, 100)}, [], "asked less"),
        ({}, [], "not known"),
        ({"kv_cache_usage": (0.5, 0.97), "kv_pressure": [0.0] * 8 + [0.9] * 8}, [], "evicted"),
        (
            {"prefix_cache_queries": (900, 900)},
            [("engine.enable_prefix_caching", "True", -50.0), ("engine.enable_prefix_caching", "False", 1.0)],
            "turned off",
        ),
    ],
)
def test_why_less_was_found_in_the_cache(state: dict[str, tuple[float, float]], facts: Facts, words: str) -> None:
    """The reading tells a cache that is off from one that is full and from prefixes that became unique."""
    seen = evidence(rows(cached_share=(0.6, 0.1)), rows(**state), facts=known(facts))
    reading = cached_less(at_least=0.1).read(seen)
    assert HELD == reading.outcome
    assert words in reading.reason


def test_what_is_found_as_before_needs_no_reason() -> None:
    """Where as much was found as before the reading says only that."""
    reading = cached_less(at_least=0.1).read(evidence(rows(cached_share=(0.6, 0.6))))
    assert FAILED == reading.outcome
    assert ";" not in reading.reason
