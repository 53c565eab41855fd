"""Absence of evidence is never health: what was not measured leaves a word untestable, on whichever rows it lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from correlator.model.evidence import METRICS, Coverage, Event, Fact
from correlator.model.names import CONTEXT_ERROR, ERROR, KV_CACHE_USAGE, WAITING, Events
from hypotheses import (
    absent,
    accounts_for,
    cached_less,
    changed,
    confined_to_changed,
    plateaus,
    records_lost,
    stays_below,
)
from hypotheses._cache import CACHING
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, evidence, outcome, rows

NAN = float("nan")
LOG = [Fact(name, "1", ONSET + at * 10**9, "engine") for at in (-50, 1) for name in ("engine.version", "engine.model")]


@pytest.mark.parametrize("word", [stays_below(KV_CACHE_USAGE, 0.8, WAITING), plateaus(KV_CACHE_USAGE, WAITING)])
def test_one_reading_of_a_condition_says_nothing(word) -> None:  # type: ignore[no-untyped-def]
    """Waiting measured in a single block of the incident does not show that nobody ever waited."""
    seldom = rows(noise=0, kv_cache_usage=(0.5, 0.5), waiting_requests=[0.0] * 9 + [NAN] * 7)
    always = rows(noise=0, kv_cache_usage=(0.5, 0.5), waiting_requests=[0.0] * 16)
    assert BLIND == outcome(word, evidence(series=seldom))
    assert FAILED == outcome(word, evidence(series=always))


def test_a_part_that_is_missing_on_the_ill_rows_accounts_for_nothing_either_way() -> None:
    """Failures of which no one says why: whether they were refusals is not known."""
    table = rows(noise=0, error=[0.0] * 8 + [0.5] * 8)
    table["error"] = np.where(table.index % 2, 0.0, table["error"] * 2)
    silent = table.assign(context_error=np.where(table["error"] > 0, NAN, 0.0))
    told = table.assign(context_error=0.0)
    word = accounts_for(CONTEXT_ERROR, at_least=0.2)
    assert BLIND == outcome(word, evidence(silent, symptom=ERROR))
    assert FAILED == outcome(word, evidence(told, symptom=ERROR))


def test_what_metrics_show_late_has_not_changed() -> None:
    """An info metric first scraped after the onset is no change from a default; a flag in the second log is one."""
    word = changed(CACHING, kind="prefix caching")
    late = Fact(CACHING, "True", ONSET + 5 * 10**9, METRICS)
    flag = Fact(CACHING, "False", ONSET + 10**9, "engine")
    table = rows(request_latency=(1, 2))
    assert BLIND == outcome(word, evidence(table, facts=(*LOG, late)))
    assert HELD == outcome(word, evidence(table, facts=(*LOG, flag)))


def test_caching_that_was_turned_on_was_not_turned_off() -> None:
    """The cached share fell although caching is on now: the reading must not blame a switch."""
    facts = (Fact(CACHING, "False", ONSET - 50 * 10**9, "engine"), Fact(CACHING, "True", ONSET + 10**9, "engine"))
    reading = cached_less(0.1).read(evidence(rows(noise=0, cached_share=(0.6, 0.2)), facts=facts))
    assert HELD == reading.outcome
    assert "turned off" not in reading.reason


def test_a_missing_attribute_is_no_new_value() -> None:
    """Requests that do not say which version served them are not those of a new one."""
    table = rows(noise=0, request_latency=(1.0, 1.0))
    unsaid = (table.index % 2 == 0) & (table["start"] >= ONSET)
    slow = table.assign(request_latency=np.where(unsaid, 3.0, 1.0))
    slow["attribute.service.version"] = np.where(unsaid, None, "1.0")
    new = slow.assign(**{"attribute.service.version": np.where(unsaid, "2.0", "1.0")})
    assert BLIND == outcome(confined_to_changed(), evidence(slow))
    assert HELD == outcome(confined_to_changed(), evidence(new))


def test_that_nothing_happened_only_all_sources_show() -> None:
    """An engine's log cannot tell that the kernel killed nothing; one source is enough to show that it did."""
    word = absent(Events.OOM_KILL, Events.ENGINE_DEAD, seen_by=frozenset({"engine_log", "kernel_log"}))
    table, killed = rows(request_latency=(1, 2)), (Event(Events.OOM_KILL, ONSET + 10**9),)
    half, both = frozenset({"engine_log"}), frozenset({"engine_log", "kernel_log"})
    assert (BLIND, HELD) == tuple(outcome(word, evidence(table, watched=watched)) for watched in (half, both))
    assert FAILED == outcome(word, evidence(table, watched=half, events=killed))


def test_losses_that_nobody_counted_are_not_none() -> None:
    """In a running service the receivers know what they refused, the store does not."""
    seen = evidence(rows(request_latency=(1, 2)))
    counted = replace(seen, coverage=Coverage(records={"spans": 100}))
    uncounted = replace(seen, coverage=Coverage(records={"spans": 100}, losses_known=False))
    assert (FAILED, BLIND) == (outcome(records_lost(0.02), counted), outcome(records_lost(0.02), uncounted))
