"""Memory that grows and is never given back: it climbs all the while, and a restart takes it back to where it began."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from correlator.model.effects import MIN_BLOCKS, Floats, block_codes, periods, ranked
from correlator.model.evidence import BLOCK_NS, Evidence, Interval
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
        grown = max(float(means[-1] / max(means[0], 1.0)) for means in _lives(evidence, frame.rows, signal))
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
        fell = [after[0] < (before[0] + before[-1]) / 2 < before[-1] for before, after in pairs]
        text = f"{named(signal)} fell back at {sum(fell)} of {len(fell)} restarts"
        return Reading(Outcome.HELD if all(fell) else Outcome.FAILED, text)

    return Test(f"{named(signal)} falls back at a restart", read, (signal,))


def _stretches(evidence: Evidence, rows: pd.DataFrame, signal: Signal) -> list[Floats]:
    """Per window the means by block of the longest life in it."""
    return [max(_lives(evidence, rows[side], signal), key=len) for side in periods(rows)]


def _lives(evidence: Evidence, rows: pd.DataFrame, signal: Signal) -> list[Floats]:
    """Means by block in order of time, cut where the engine started again; never empty.

    A row during which it started tells of both lives, and so of neither.
    """
    starts = np.sort(np.array([e.unix_nano for e in evidence.events if e.name in STARTS], dtype=np.int64))
    values, at = rows[signal.name].to_numpy(dtype=float), rows["start"].to_numpy(dtype=np.int64)
    whole = np.searchsorted(starts, at) == np.searchsorted(starts, at + ROW_NS)
    known = whole & ~np.isnan(values) & np.any(periods(rows), axis=0)
    life = np.searchsorted(starts, at[known], side="right")
    pairs = np.stack([life, block_codes(rows)[known]], axis=1)
    found, place = np.unique(pairs, axis=0, return_inverse=True)
    means = np.bincount(place, values[known]) / np.bincount(place)
    began = np.full(len(found), np.iinfo(np.int64).max)
    np.minimum.at(began, place, at[known])
    order = np.argsort(began, kind="stable")
    lives = found[order, 0]
    return [means[order][lives == life] for life in np.unique(lives)] or [np.empty(0)]


def _steadiness(means: Floats) -> float:
    """Spearman's correlation with time; 0 where nothing moved."""
    ranks = ranked(means)
    return 0.0 if len(np.unique(ranks)) < 2 else float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
