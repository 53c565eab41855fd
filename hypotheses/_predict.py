"""Predictions about how a signal moved between baseline and incident."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.model.effects import Effect, Floats, difference, periods
from correlator.model.evidence import BASELINE, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._decide import UNCHANGED, Direction, moved, spelled, stayed
from hypotheses._frames import frame_with, too_few_blocks

LEFT_FELL = 1.5
"""Waiting for a share of something grows with one over what is left of it: half as long again."""


def shifted(signal: Signal, direction: Direction, at_least: float, statistic: str = "mean") -> Test:
    """The signal's mean (or "median", "p95", "p10") moved by at least this ratio."""
    way = "rose" if direction is Direction.UP else "fell"

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        effect = frame.ratio(signal, statistic)
        if effect is None:
            return too_few_blocks()
        reading = _moved(effect, direction, at_least, named(signal, statistic))
        return shown_by(reading, frame.rows, signal, direction)

    return Test(f"{named(signal, statistic)} {way} by a factor of at least {at_least:g}", read, (signal,))


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
        return shown_by(_moved(effect, direction, at_least, named(signal)), frame.rows, signal, direction)

    return Test(f"{named(signal)} {way} by at least {at_least:g}", read, (signal,))


def _moved(effect: Effect, direction: Direction, at_least: float, what: str) -> Reading:
    """What never varied was no trial: it has no p-value, and does not count among those that chance might have won
    (independent filtering, Bourgon et al. 2010)."""
    reading = moved(effect, direction, at_least, what)
    return replace(reading, p_value=None) if spelled(effect.interval) == UNCHANGED else reading


def not_grown(signal: Signal, within: float, statistic: str = "mean") -> Test:
    """The signal did not grow beyond this ratio."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        effect = frame.ratio(signal, statistic)
        return too_few_blocks() if effect is None else stayed(effect, within, named(signal, statistic))

    return Test(f"{named(signal, statistic)} did not grow by a factor of {within:g}", read, (signal,))


def not_fallen(signal: Signal, within: float) -> Test:
    """The signal did not fall below one over this ratio."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        effect = frame.ratio(signal)
        if effect is None:
            return too_few_blocks()
        low, high = effect.interval.low, effect.interval.high
        held, failed = low > 1 / within, high < 1 / within
        outcome = Outcome.HELD if held else Outcome.FAILED if failed else Outcome.INCONCLUSIVE
        return Reading(outcome, f"{signal.name} {spelled(effect.interval)}", effect.interval, None, effect.blocks)

    return Test(f"{signal.name} did not fall by a factor of {within:g}", read, (signal,))


def nearer_to_one(share: Signal, left: Signal, at_least: float, otherwise: Signal) -> Test:
    """A share rose by this ratio; one too near to 1 to rise so far, by what is left of it (LEFT_FELL).

    Where hardly anything was left before, that may not tell either: then `otherwise` would.
    """
    rose, fell = shifted(share, Direction.UP, at_least), shifted(left, Direction.DOWN, LEFT_FELL)

    def read(evidence: Evidence) -> Reading:
        frame, reading = frame_with(evidence, share), rose.read(evidence)
        if isinstance(frame, Reading) or reading.outcome is Outcome.HELD:
            return reading
        before = float(frame.rows.loc[frame.rows["period"] == BASELINE, share.name].mean())
        if before * at_least <= 1:
            return reading
        remaining = fell.read(evidence)
        if remaining.outcome in (Outcome.HELD, Outcome.FAILED):
            return remaining
        reason = f"{share.name} was {before:.2f} before, too near to 1 to show more: {remaining.reason}"
        return replace(remaining, outcome=Outcome.UNTESTABLE, reason=reason, missing=(otherwise.name,))

    return Test(rose.statement, read, (share, left))


def shown_by(
    reading: Reading, rows: pd.DataFrame, values: Signal | Floats, direction: Direction = Direction.UP
) -> Reading:
    """The reading with the three traces of the incident that show it most, where it held."""
    if reading.outcome is not Outcome.HELD or "trace_id" not in rows:
        return reading
    measured = rows[values.name].to_numpy(dtype=float) if isinstance(values, Signal) else values
    measured = np.where(periods(rows)[1], measured, np.nan)
    order = np.argsort(measured if direction is Direction.DOWN else -measured, kind="stable")[:3]
    ids = rows["trace_id"].array
    return replace(reading, trace_ids=tuple(str(ids[at]) for at in order[~np.isnan(measured[order])]))


def named(signal: Signal, statistic: str = "mean") -> str:
    """A signal in a sentence."""
    return signal.name if statistic == "mean" else f"{statistic} of {signal.name}"
