"""The finest frame that can answer: requests if every column is there, else series (DESIGN 5)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from correlator.model.effects import Effect, ratio
from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import LATENCY, Signal


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of one frame, and for each signal the column that weighs it (requests behind a mean) if any."""

    rows: pd.DataFrame
    known: dict[tuple[str, str], Effect | None]

    def ratio(self, signal: Signal, statistic: str = "mean") -> Effect | None:
        """`effects.ratio` of the signal over all rows; asked twice, it is worked out once."""
        asked = (signal.name, statistic)
        if asked not in self.known:
            self.known[asked] = ratio(self.rows, signal.name, statistic, self.weight(signal))
        return self.known[asked]

    def weight(self, signal: Signal) -> str | None:
        """The weight column of a signal, None where rows count alike."""
        column = f"n.{signal.name}"
        return column if column in self.rows and self.rows[column].notna().any() else None


def frame_with(evidence: Evidence, *signals: Signal) -> Frame | Reading:
    """A frame in which every signal is present in both windows, or the reading that says what is missing."""
    asked = [s.name for s in dict.fromkeys(signals)]
    frames = evidence.answered if LATENCY.name in asked else evidence.numbers
    for frame, columns in zip(frames, evidence.compared, strict=True):
        if columns.issuperset(asked):
            return _of(evidence, frame)
    return _unmeasured(evidence, signals)


def incident_with(evidence: Evidence, *signals: Signal) -> Frame | Reading:
    """Like `frame_with`, but only the incident has to have the signals; series first, for states over time."""
    asked = [s.name for s in signals]
    for frame in reversed(evidence.numbers):
        if set(asked) <= set(frame.columns) and not frame.loc[frame["period"] == INCIDENT, asked].dropna().empty:
            return _of(evidence, frame)
    return _unmeasured(evidence, signals)


def _of(evidence: Evidence, rows: pd.DataFrame) -> Frame:
    return Frame(rows, evidence.memo.setdefault(id(rows), {}))


def untestable(missing: tuple[str, ...], reason: str = "") -> Reading:
    """Cannot be tested: these signals are missing (in one window at least)."""
    text = reason or f"not measured in both windows: {', '.join(missing)}"
    return Reading(Outcome.UNTESTABLE, text, missing=missing)


def too_few_blocks(blocks: int = 0) -> Reading:
    """Tested on so little that no interval can be given."""
    return Reading(Outcome.UNTESTABLE, "too few blocks of 10 s in a window for an interval", blocks=blocks)


def _unmeasured(evidence: Evidence, signals: tuple[Signal, ...]) -> Reading:
    missing, untied = _absent(evidence, signals), evidence.coverage.untied
    known = [f"{name}: {untied[name]}" for name in missing if name in untied]
    return untestable(missing, "; ".join(dict.fromkeys(known)))


def _absent(evidence: Evidence, signals: tuple[Signal, ...]) -> tuple[str, ...]:
    """Signals in neither frame; if each is somewhere but never together, those the finer frame lacks."""
    requests, series = evidence.compared
    nowhere = tuple(s.name for s in signals if s.name not in requests | series)
    return nowhere or tuple(s.name for s in signals if s.name not in requests)
