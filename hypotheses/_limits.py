"""Predictions about limits: those of a pool, of the engine's batch, and of a client's patience."""

from __future__ import annotations

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._facts import in_force, number
from hypotheses._frames import frame_with, incident_with, too_few_blocks, untestable
from hypotheses._levels import NEAR, capped, share_of_blocks
from hypotheses._predict import named

USUAL = 0.9
SPREAD, LOOSE = 1.2, 1.5
"""95th percentile over median. A timer fires within a tenth or two of its time; answers of a model, whose lengths
differ, spread by 1.6 where the lengths differ by 30 % (log-normal), as they do in an ordinary service."""


def at_limit(share: Signal, while_high: Signal) -> Test:
    """Whenever `while_high` lay above nine tenths of the baseline's values, the share in use was close to 1."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, share, while_high)
        if isinstance(frame, Reading):
            return frame
        usual = frame.rows.loc[frame.rows["period"] == BASELINE, while_high.name].quantile(USUAL)
        rows = frame.rows[(frame.rows["period"] == INCIDENT) & frame.rows[share.name].notna()]
        rows = rows[rows[while_high.name] > usual]
        near = share_of_blocks(rows, rows[share.name] >= NEAR)
        text = f"{named(share)} was {NEAR:g} or more {near:.0%} of the time with {named(while_high)} above {usual:.3g}"
        return capped(rows, near, text)

    return Test(f"{named(share)} was close to 1 while {named(while_high)} was high", read, (share, while_high))


def sits_at(signal: Signal, fact: str) -> Test:
    """In the incident the signal lay at a limit that the configuration sets, and never above it.

    Above it, several engines were added up: then nothing is said.
    """

    def read(evidence: Evidence) -> Reading:
        frame, limit = incident_with(evidence, signal), number(in_force(evidence, (fact,))[1].get(fact))
        if isinstance(frame, Reading):
            return frame
        if limit is None:
            return untestable((fact,), f"{fact} is not known")
        rows = frame.rows[(frame.rows["period"] == INCIDENT) & frame.rows[signal.name].notna()]
        near = share_of_blocks(rows, rows[signal.name] >= NEAR * limit)
        text = (
            f"{named(signal)} reached {rows[signal.name].max():.3g} of {fact}={limit:g}, near it {near:.0%} of the time"
        )
        if (rows[signal.name] > limit).any():
            return Reading(Outcome.INCONCLUSIVE, f"{text}: more than one engine", None, None, rows["block"].nunique())
        return capped(rows, near, text)

    return Test(f"{named(signal)} sits at {fact}", read, (signal,))


def times_out_near(given_up: Signal, usual: Signal) -> Test:
    """Tries that were given up all took nearly the same time, and that lies among what calls used to take (p99)."""

    def read(evidence: Evidence) -> Reading:
        frame, before = incident_with(evidence, given_up), evidence.numbers[0]
        if isinstance(frame, Reading):
            return frame
        times = frame.rows.loc[frame.rows["period"] == INCIDENT, [given_up.name, "block"]].dropna()
        took = before.loc[before["period"] == BASELINE, usual.name].dropna() if usual.name in before else times[:0]
        if len(took) == 0:
            return untestable((usual.name,))
        if times["block"].nunique() < MIN_BLOCKS:
            return too_few_blocks(times["block"].nunique())
        middle, longest = (float(times[given_up.name].quantile(q)) for q in (0.5, 0.95))
        text = (
            f"given up after {middle:.3g} s (p95 {longest:.3g} s); {usual.name} took {took.quantile(0.99):.3g} s (p99)"
        )
        among = took.median() / 2 <= middle <= took.quantile(0.99)
        held, loose = among and longest <= SPREAD * middle, longest > LOOSE * middle
        outcome = Outcome.HELD if held else Outcome.FAILED if loose or not among else Outcome.INCONCLUSIVE
        return Reading(outcome, text, None, None, times["block"].nunique())

    return Test(f"{named(given_up)} is one duration, near what {named(usual)} was", read, (given_up,))
