"""Predictions about where a signal lay during the incident: at a level, below one, at a flat cap, at a limit."""

from __future__ import annotations

import pandas as pd

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import INCIDENT, Evidence, Interval
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._frames import Frame, incident_with, too_few_blocks
from hypotheses._predict import named

OFTEN = 0.05
"""A state met in 5 % of the incident's rows, in two blocks or more, was there; less is a blip."""
MOSTLY = 0.5
CAP = 0.9
"""The cap is the 90th percentile, not the maximum: a few readings from before the limit took hold do not set it.
A limit lets at least one through, so the cap is 1 or more."""
NEAR = 0.8
"""Readings averaged over 5 s dip below a cap whenever a place is free for a moment."""


def reaches(signal: Signal, level: float) -> Test:
    """During the incident the signal was at or above a level, more than once."""

    def read(evidence: Evidence) -> Reading:
        frame = incident_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        rows = _incident(frame, signal)
        share, highest, blocks = _at_or_above(rows, signal, level)
        if rows["block"].nunique() < MIN_BLOCKS:
            return too_few_blocks(rows["block"].nunique())
        held = share >= OFTEN and blocks >= 2
        outcome = Outcome.HELD if held else Outcome.FAILED if blocks == 0 else Outcome.INCONCLUSIVE
        text = f"{named(signal)} peaked at {highest:.3g}, at or above {level:g} in {share:.0%} of the incident"
        return Reading(outcome, text, Interval(highest, highest, highest, signal.unit), None, rows["block"].nunique())

    return Test(f"{named(signal)} reached {level:g} in the incident", read, (signal,))


def stays_below(signal: Signal, level: float, while_positive: Signal) -> Test:
    """Whenever `while_positive` was above zero in the incident, the signal was mostly below a level."""

    def read(evidence: Evidence) -> Reading:
        rows = _whenever(evidence, signal, while_positive)
        if isinstance(rows, Reading):
            return rows
        below = share_of_blocks(rows, rows[signal.name] < level)
        outcome = Outcome.HELD if below > 1 - OFTEN else Outcome.FAILED if below < MOSTLY else Outcome.INCONCLUSIVE
        text = f"{named(signal)} was below {level:g} {below:.0%} of the time with {named(while_positive)} above 0"
        return Reading(outcome, text, None, None, rows["block"].nunique())

    statement = f"{named(signal)} stayed below {level:g} while {named(while_positive)} was above 0"
    return Test(statement, read, (signal, while_positive))


def plateaus(signal: Signal, while_positive: Signal) -> Test:
    """Whenever `while_positive` was above zero in the incident, the signal sat at one flat cap."""

    def read(evidence: Evidence) -> Reading:
        rows = _whenever(evidence, signal, while_positive)
        if isinstance(rows, Reading):
            return rows
        cap = max(1.0, float(rows[signal.name].quantile(CAP)))
        near = share_of_blocks(rows, rows[signal.name] >= NEAR * cap)
        condition = f"with {named(while_positive)} above 0"
        return capped(rows, near, f"{named(signal)} was near its cap of {cap:.3g} {near:.0%} of the time {condition}")

    statement = f"{named(signal)} sat at a flat cap while {named(while_positive)} was above 0"
    return Test(statement, read, (signal, while_positive))


def capped(rows: pd.DataFrame, near: float, text: str) -> Reading:
    """Judge the share of time spent near a cap: most of it is being capped, less than a third is passing by."""
    blocks = rows["block"].nunique()
    if blocks < MIN_BLOCKS:
        outcome = Outcome.INCONCLUSIVE if blocks else Outcome.FAILED
        return Reading(outcome, f"{text}; in {blocks} blocks of the incident", None, None, blocks)
    outcome = Outcome.HELD if near >= 0.6 else Outcome.FAILED if near < 0.3 else Outcome.INCONCLUSIVE
    return Reading(outcome, text, None, None, blocks)


def _whenever(evidence: Evidence, signal: Signal, positive: Signal) -> pd.DataFrame | Reading:
    """The incident's rows in which `positive` is above zero, if they lie in enough blocks to speak."""
    frame = incident_with(evidence, signal, positive)
    if isinstance(frame, Reading):
        return frame
    during = frame.rows[frame.rows["period"] == INCIDENT]
    seen = during.loc[during[positive.name].notna(), "block"].nunique()
    if seen < MIN_BLOCKS:
        return too_few_blocks(seen)
    rows = during[(during[positive.name] > 0) & during[signal.name].notna()]
    blocks = rows["block"].nunique()
    if blocks >= MIN_BLOCKS:
        return rows
    text = f"{named(positive)} was above zero in {blocks} blocks of the incident"
    return Reading(Outcome.INCONCLUSIVE if blocks else Outcome.FAILED, text, None, None, blocks)


def share_of_blocks(rows: pd.DataFrame, met: pd.Series) -> float:
    """Mean over blocks of the share of rows that meet a condition: a block counts once."""
    if rows.empty:
        return 0.0
    return float(met.groupby(rows["block"], observed=True).mean().mean())


def _incident(frame: Frame, signal: Signal) -> pd.DataFrame:
    return frame.rows[(frame.rows["period"] == INCIDENT) & frame.rows[signal.name].notna()]


def _at_or_above(rows: pd.DataFrame, signal: Signal, level: float) -> tuple[float, float, int]:
    above = rows[signal.name] >= level
    return float(above.mean()), float(rows[signal.name].max()), int(rows.loc[above, "block"].nunique())
