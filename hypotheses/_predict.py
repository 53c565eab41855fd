"""Predictions about how a signal moved, or where it lay, between baseline and incident."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.model.effects import MIN_BLOCKS, difference, ratio
from correlator.model.evidence import INCIDENT, Evidence, Interval
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._decide import Direction, moved, stayed
from hypotheses._frames import Frame, frame_with, incident_with, too_few_blocks

OFTEN = 0.05
"""A state met in 5 % of the incident's rows, in two blocks or more, was there; less is a blip."""
MOSTLY = 0.5
CAP = 0.9
"""The cap is the 90th percentile, not the maximum: a few readings from before the limit took hold do not set it.
A limit lets at least one through, so the cap is 1 or more."""
NEAR = 0.8
"""Readings averaged over 5 s dip below a cap whenever a place is free for a moment."""


def shifted(signal: Signal, direction: Direction, at_least: float, statistic: str = "mean") -> Test:
    """The signal's mean (or "median", "p95", "p10") moved by at least this ratio."""
    way = "rose" if direction is Direction.UP else "fell"

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        effect = ratio(frame.rows, signal.name, statistic, frame.weight(signal))
        if effect is None:
            return too_few_blocks()
        return moved(effect, direction, at_least, _named(signal, statistic), examples(frame.rows, signal, direction))

    return Test(f"{_named(signal, statistic)} {way} by a factor of at least {at_least:g}", read, (signal,))


def shifted_by(signal: Signal, direction: Direction, at_least: float) -> Test:
    """The signal's mean moved by at least this much, in its own unit (for shares and counts that start at 0)."""
    way = "rose" if direction is Direction.UP else "fell"

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        effect = difference(frame.rows, signal.name, "mean", frame.weight(signal), signal.unit)
        if effect is None:
            return too_few_blocks()
        return moved(effect, direction, at_least, _named(signal), examples(frame.rows, signal, direction))

    return Test(f"{_named(signal)} {way} by at least {at_least:g}", read, (signal,))


def not_grown(signal: Signal, within: float, statistic: str = "mean") -> Test:
    """The signal did not grow beyond this ratio."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        effect = ratio(frame.rows, signal.name, statistic, frame.weight(signal))
        return too_few_blocks() if effect is None else stayed(effect, within, _named(signal, statistic))

    return Test(f"{_named(signal, statistic)} did not grow by a factor of {within:g}", read, (signal,))


def together(*tests: Test) -> Test:
    """All of them hold; the worst outcome is the outcome."""
    order = (Outcome.FAILED, Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.HELD)

    def read(evidence: Evidence) -> Reading:
        readings = [test.read(evidence) for test in tests]
        worst = min(readings, key=lambda reading: order.index(reading.outcome))
        reasons = "; ".join(r.reason for r in readings) if worst.outcome is Outcome.HELD else worst.reason
        missing = tuple(dict.fromkeys(m for r in readings for m in r.missing))
        return replace(worst, reason=reasons, missing=missing)

    signals = tuple(dict.fromkeys(s for test in tests for s in test.signals))
    return Test("; ".join(test.statement for test in tests), read, signals)


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
        text = f"{_named(signal)} peaked at {highest:.3g}, at or above {level:g} in {share:.0%} of the incident"
        return Reading(outcome, text, Interval(highest, highest, highest, signal.unit), None, rows["block"].nunique())

    return Test(f"{_named(signal)} reached {level:g} in the incident", read, (signal,))


def stays_below(signal: Signal, level: float, while_positive: Signal) -> Test:
    """Whenever `while_positive` was above zero in the incident, the signal was mostly below a level."""

    def read(evidence: Evidence) -> Reading:
        rows = _whenever(evidence, signal, while_positive)
        if isinstance(rows, Reading):
            return rows
        below = _share_of_blocks(rows, rows[signal.name] < level)
        outcome = Outcome.HELD if below > 1 - OFTEN else Outcome.FAILED if below < MOSTLY else Outcome.INCONCLUSIVE
        text = f"{_named(signal)} was below {level:g} {below:.0%} of the time with {_named(while_positive)} above 0"
        return Reading(outcome, text, None, None, rows["block"].nunique())

    statement = f"{_named(signal)} stayed below {level:g} while {_named(while_positive)} was above 0"
    return Test(statement, read, (signal, while_positive))


def plateaus(signal: Signal, while_positive: Signal) -> Test:
    """Whenever `while_positive` was above zero in the incident, the signal sat at one flat cap."""

    def read(evidence: Evidence) -> Reading:
        rows = _whenever(evidence, signal, while_positive)
        if isinstance(rows, Reading):
            return rows
        cap = max(1.0, float(rows[signal.name].quantile(CAP)))
        near = _share_of_blocks(rows, rows[signal.name] >= NEAR * cap)
        outcome = Outcome.HELD if near >= 0.6 else Outcome.FAILED if near < 0.3 else Outcome.INCONCLUSIVE
        condition = f"with {_named(while_positive)} above 0"
        text = f"{_named(signal)} was near its cap of {cap:.3g} {near:.0%} of the time {condition}"
        return Reading(outcome, text, None, None, rows["block"].nunique())

    statement = f"{_named(signal)} sat at a flat cap while {_named(while_positive)} was above 0"
    return Test(statement, read, (signal, while_positive))


def _whenever(evidence: Evidence, signal: Signal, positive: Signal) -> pd.DataFrame | Reading:
    """The incident's rows in which `positive` is above zero, if they lie in enough blocks to speak."""
    frame = incident_with(evidence, signal, positive)
    if isinstance(frame, Reading):
        return frame
    rows = _incident(frame, signal)
    rows = rows[rows[positive.name] > 0]
    blocks = rows["block"].nunique()
    if blocks >= MIN_BLOCKS:
        return rows
    text = f"{_named(positive)} was above zero in {blocks} blocks of the incident"
    return Reading(Outcome.INCONCLUSIVE if blocks else Outcome.FAILED, text, None, None, blocks)


def _share_of_blocks(rows: pd.DataFrame, met: pd.Series) -> float:
    """Mean over blocks of the share of rows that meet a condition: a block counts once."""
    return float(met.groupby(rows["block"], observed=True).mean().mean())


def examples(rows: pd.DataFrame, signal: Signal, direction: Direction = Direction.UP) -> tuple[str, ...]:
    """Three traces of the incident that show it most."""
    if "trace_id" not in rows:
        return ()
    values = np.where(rows["period"] == INCIDENT, rows[signal.name].to_numpy(dtype=float), np.nan)
    order = np.argsort(values if direction is Direction.DOWN else -values, kind="stable")[:3]
    return tuple(str(t) for t in rows["trace_id"].iloc[order[~np.isnan(values[order])]])


def _incident(frame: Frame, signal: Signal) -> pd.DataFrame:
    return frame.rows[(frame.rows["period"] == INCIDENT) & frame.rows[signal.name].notna()]


def _at_or_above(rows: pd.DataFrame, signal: Signal, level: float) -> tuple[float, float, int]:
    above = rows[signal.name] >= level
    return float(above.mean()), float(rows[signal.name].max()), int(rows.loc[above, "block"].nunique())


def _named(signal: Signal, statistic: str = "mean") -> str:
    return signal.name if statistic == "mean" else f"{statistic} of {signal.name}"
