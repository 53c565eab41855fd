"""Memory that grows and is never given back: it climbs all the while, and a restart takes it back to where it began."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BASELINE, BLOCK_NS, INCIDENT, Evidence, Interval
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Events, Signal
from hypotheses._contract import Test
from hypotheses._frames import frame_with, too_few_blocks, untestable
from hypotheses._predict import named

STEADY = 0.9
"""Rank correlation of level and time over a stretch. What only wanders reaches 0.9 by chance in one stretch of a
hundred with ten independent changes, and a step reaches 0.87 (half the ranks tied on either side)."""
LARGE = 1.1
"""Smallest growth over what was recorded that is called one: allocators keep a few per cent at hand."""
ROW_NS = BLOCK_NS // 2
"""A row of the series lasts half a block."""
STARTS = frozenset({Events.ENGINE_START, Events.COUNTER_RESET})


def climbs(signal: Signal) -> Test:
    """Within each window the signal rose steadily, and over both by a tenth at least."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        stretches = _stretches(evidence, frame.rows, signal)
        if any(len(means) < 2 * MIN_BLOCKS for means in stretches):
            return too_few_blocks(min(map(len, stretches)))
        steady = [_steadiness(means) for means in stretches]
        grown = max(float(means.iloc[-1] / max(means.iloc[0], 1.0)) for means in _lives(evidence, frame.rows, signal))
        held = min(steady) >= STEADY and grown >= LARGE
        text = (
            f"{named(signal)} grew ×{grown:.2f}; steadiness before and in the incident {steady[0]:.2f}, {steady[1]:.2f}"
        )
        blocks = min(map(len, stretches))
        effect = Interval(grown, grown, grown)
        return Reading(Outcome.HELD if held else Outcome.FAILED, text, effect, None, blocks)

    return Test(f"{named(signal)} climbs steadily, before and in the incident", read, (signal,))


def resets_at_start(signal: Signal) -> Test:
    """At a restart the signal fell back to less than halfway down what it had climbed."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        lives = _lives(evidence, frame.rows, signal)
        if len(lives) < 2:
            return untestable(("engine_start",), "the engine was not restarted while its memory was measured")
        pairs = list(pairwise(lives))
        fell = [after.iloc[0] < (before.iloc[0] + before.iloc[-1]) / 2 < before.iloc[-1] for before, after in pairs]
        text = f"{named(signal)} fell back at {sum(fell)} of {len(fell)} restarts"
        return Reading(Outcome.HELD if all(fell) else Outcome.FAILED, text)

    return Test(f"{named(signal)} falls back at a restart", read, (signal,))


def _stretches(evidence: Evidence, rows: pd.DataFrame, signal: Signal) -> list[pd.Series]:
    """Per window the means by block of the longest life in it."""
    return [max(_lives(evidence, rows[rows["period"] == p], signal), key=len) for p in (BASELINE, INCIDENT)]


def _lives(evidence: Evidence, rows: pd.DataFrame, signal: Signal) -> list[pd.Series]:
    """Means by block in order of time, cut where the engine started again; never empty.

    A row during which it started tells of both lives, and so of neither.
    """
    known = rows[rows[signal.name].notna() & (rows["period"] != "")]
    starts = pd.Series(sorted(e.unix_nano for e in evidence.events if e.name in STARTS), dtype="int64")
    begun = starts.searchsorted(known["start"])
    known = known[begun == starts.searchsorted(known["start"] + ROW_NS)]
    life = starts.searchsorted(known["start"], side="right")
    means = known.groupby([life, known["block"].astype(str)]).agg(at=("start", "min"), value=(signal.name, "mean"))
    means = means.sort_values("at")
    return [group["value"] for _, group in means.groupby(level=0)] or [pd.Series(dtype=float)]


def _steadiness(means: pd.Series) -> float:
    """Spearman's correlation with time; 0 where nothing moved."""
    ranks = means.rank().reset_index(drop=True)
    return 0.0 if ranks.nunique() < 2 else float(ranks.corr(pd.Series(range(len(ranks)), dtype=float)))
