"""Predictions about a setting of the engine: what it was set to, and whether the load went beyond it."""

from __future__ import annotations

from dataclasses import replace

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._facts import changed, in_force, number
from hypotheses._frames import frame_with, too_few_blocks, untestable
from hypotheses._levels import OFTEN, share_of_blocks
from hypotheses._predict import named

OFTENER = 2.0
"""Beyond a limit in twice as much of the time as before."""


def set_to(fact: str, value: str, kind: str) -> Test:
    """The setting changed, and to this value (compared without case)."""
    other = changed(fact, kind=kind)

    def read(evidence: Evidence) -> Reading:
        reading, now = other.read(evidence), in_force(evidence, (fact,))[1].get(fact, "default")
        wrong = reading.outcome is Outcome.HELD and now.lower() != value.lower()
        return replace(reading, outcome=Outcome.FAILED) if wrong else reading

    return Test(f"{kind} was set to {value} ({fact})", read)


def lowered(fact: str, kind: str, default: float) -> Test:
    """The setting, a number, is lower than it was.

    A start-up log leaves out a default, which is at least `default`: against a number beyond that nothing is known.
    """
    other = changed(fact, kind=kind)

    def read(evidence: Evidence) -> Reading:
        reading = other.read(evidence)
        before, after = (number(side.get(fact)) for side in in_force(evidence, (fact,)))
        if reading.outcome is not Outcome.HELD:
            return reading
        if after is None or (before is None and after >= default):
            return replace(reading, outcome=Outcome.INCONCLUSIVE)
        fell = after < (default if before is None else before)
        return reading if fell else replace(reading, outcome=Outcome.FAILED)

    return Test(f"{kind} was lowered ({fact})", read)


def moved_to(fact: str, kind: str, lower: bool) -> Test:
    """The setting, a number, was lowered (or raised); between a default and a number nothing is said."""

    def read(evidence: Evidence) -> Reading:
        before, after = (side.get(fact) for side in in_force(evidence, (fact,)))
        values = number(before), number(after)
        if values[0] is None or values[1] is None:
            return untestable((fact,), f"{kind} not seen in both windows ({fact})")
        moved = values[1] < values[0] if lower else values[1] > values[0]
        return Reading(Outcome.HELD if moved else Outcome.FAILED, f"{fact}: {before} → {after}")

    return Test(f"{kind} was {'lowered' if lower else 'raised'} ({fact})", read)


def larger(fact: str, than: str) -> Test:
    """One setting is larger than another, as both were at the end of the incident."""

    def read(evidence: Evidence) -> Reading:
        now = in_force(evidence, (fact, than))[1]
        one, other = number(now.get(fact)), number(now.get(than))
        if one is None or other is None:
            return untestable(tuple(f for f, v in ((fact, one), (than, other)) if v is None))
        return Reading(Outcome.HELD if one > other else Outcome.FAILED, f"{fact}={one:g}, {than}={other:g}")

    return Test(f"{fact} is larger than {than}", read)


def exceeds(signal: Signal, fact: str) -> Test:
    """The signal went beyond a limit that the configuration sets, and did so less than half as often before."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        limits = [number(side.get(fact)) for side in in_force(evidence, (fact,))]
        if limits[1] is None:
            return untestable((fact,), f"{fact} is not known")
        limit = {BASELINE: limits[1] if limits[0] is None else limits[0], INCIDENT: limits[1]}
        sides = {p: frame.rows[(frame.rows["period"] == p) & frame.rows[signal.name].notna()] for p in limit}
        blocks = sides[INCIDENT]["block"].nunique()
        if blocks < MIN_BLOCKS:
            return too_few_blocks(blocks)
        before, now = (share_of_blocks(sides[p], sides[p][signal.name] > limit[p]) for p in limit)
        text = f"{named(signal)} was above {fact}={limit[INCIDENT]:g} {now:.0%} of the time, {before:.0%} before"
        held = now >= OFTEN and now >= OFTENER * before
        return Reading(Outcome.HELD if held else Outcome.FAILED, text, None, None, blocks)

    return Test(f"{named(signal)} went beyond {fact}", read, (signal,))
