"""Why prompts are no longer found in the prefix cache: it is off, it is full, or they have become unique."""

from __future__ import annotations

from dataclasses import replace

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import CACHED_SHARE, KV_CACHE_USAGE, KV_PRESSURE, PREFIX_QUERIES
from hypotheses._contract import Test
from hypotheses._decide import Direction, spelled
from hypotheses._facts import changed, in_force
from hypotheses._frames import frame_with
from hypotheses._levels import reaches
from hypotheses._predict import shifted_by

CACHING = "engine.enable_prefix_caching"
CHANGED = changed(CACHING, kind="prefix caching")
FULL = (reaches(KV_CACHE_USAGE, 0.9), shifted_by(KV_PRESSURE, Direction.UP, at_least=0.05))
STILL_ASKED = 0.8
"""Queries that fell by less than a fifth went on: arrivals of neighbouring windows differ that much."""


def cached_less(at_least: float) -> Test:
    """The cached share of prompt tokens fell by at least this much; the reading says in what way."""
    fell = shifted_by(CACHED_SHARE, Direction.DOWN, at_least)

    def read(evidence: Evidence) -> Reading:
        reading = fell.read(evidence)
        if reading.outcome is not Outcome.HELD:
            return reading
        return replace(reading, reason=f"{reading.reason}; {_why(evidence)}")

    return Test(fell.statement, read, (CACHED_SHARE,))


def _why(evidence: Evidence) -> str:
    if CHANGED.read(evidence).outcome is Outcome.HELD and _is_off(evidence):
        return "caching was turned off"
    full = [test.read(evidence).outcome for test in FULL]
    if all(outcome is Outcome.HELD for outcome in full):
        return "evicted: the KV pool was full"
    frame = frame_with(evidence, PREFIX_QUERIES)
    asked = None if isinstance(frame, Reading) else frame.ratio(PREFIX_QUERIES)
    if asked is None:
        return "how is not known: queries of the cache were not measured"
    if asked.interval.value < STILL_ASKED:
        return f"the cache is asked less: queries {spelled(asked.interval)}"
    return f"queries went on ({spelled(asked.interval)}) and the pool was not full: prefixes became unique"


def _is_off(evidence: Evidence) -> bool:
    return in_force(evidence, (CACHING,))[1].get(CACHING, "").lower() == "false"
