"""Memory that grows and is never given back: it climbs all the while, and a restart takes it back to where it began."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import numpy as np
import pandas as pd

from correlator.model.effects import MIN_BLOCKS, Bools, Floats, Ints, block_codes, periods, ranked
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
STAMP_NS = 1_000_000_000
"""Logs tell whole seconds: a start may be later than its stamp by as much, and what came before it of the last life."""
STARTS = frozenset({Events.ENGINE_START, Events.COUNTER_RESET})
ENDS = frozenset(
    {Events.OUT_OF_MEMORY, Events.OOM_KILL, Events.CONTAINER_KILLED, Events.ENGINE_DEAD, Events.PROCESS_CRASH}
)
"""The last of these before a start ended the life before; what is measured between them is nobody's."""


def climbs(signal: Signal) -> Test:
    """Within each window the signal rose steadily, and over both by a tenth at least."""

    def read(evidence: Evidence) -> Reading:
        rows = _over_time(evidence, signal)
        if isinstance(rows, Reading):
            return rows
        stretches = _stretches(evidence, rows, signal)
        if any(len(means) < 2 * MIN_BLOCKS for means in stretches):
            return too_few_blocks(min(map(len, stretches)))
        steady = [_steadiness(means) for means in stretches]
        grown = max(float(means[-1] / max(means[0], 1.0)) for means in _lives(evidence, rows, signal))
        held = min(steady) >= STEADY and grown >= LARGE
        text = (
            f"{named(signal)} grew ×{grown:.2f}; steadiness before and in the incident {steady[0]:.2f}, {steady[1]:.2f}"
        )
        blocks = min(map(len, stretches))
        effect = Interval(grown, grown, grown)
        return Reading(Outcome.HELD if held else Outcome.FAILED, text, effect, None, blocks)

    return Test(f"{named(signal)} climbs steadily, before and in the incident", read, (signal,))


def climbed(signal: Signal) -> Test:
    """The signal rose steadily, by a tenth at least, all through the longest life that an engine had.

    For what failed in the end: the windows are then cut where it did, and it climbed before.
    """

    def read(evidence: Evidence) -> Reading:
        rows = _over_time(evidence, signal)
        if isinstance(rows, Reading):
            return rows
        means = max(_lives(evidence, rows, signal), key=len)
        if len(means) < 2 * MIN_BLOCKS:
            return too_few_blocks(len(means))
        steady, grown = _steadiness(means), float(means[-1] / max(means[0], 1.0))
        text = f"{named(signal)} grew ×{grown:.2f} in {len(means)} blocks of one life; steadiness {steady:.2f}"
        outcome = Outcome.HELD if steady >= STEADY and grown >= LARGE else Outcome.FAILED
        return Reading(outcome, text, Interval(grown, grown, grown), None, len(means))

    return Test(f"{named(signal)} climbed steadily as long as the engine lived", read, (signal,))


def resets_at_start(signal: Signal) -> Test:
    """At a restart the signal fell back to less than halfway down what it had climbed."""

    def read(evidence: Evidence) -> Reading:
        rows = _over_time(evidence, signal)
        if isinstance(rows, Reading):
            return rows
        lives = _lives(evidence, rows, signal)
        if len(lives) < 2:
            return untestable(("engine_start",), "the engine was not restarted while its memory was measured")
        pairs = list(pairwise(lives))
        fell = [after[0] < (before[0] + before[-1]) / 2 < before[-1] for before, after in pairs]
        text = f"{named(signal)} fell back at {sum(fell)} of {len(fell)} restarts"
        return Reading(Outcome.HELD if all(fell) else Outcome.FAILED, text)

    return Test(f"{named(signal)} falls back at a restart", read, (signal,))


def _over_time(evidence: Evidence, signal: Signal) -> pd.DataFrame | Reading:
    """Rows of the series if both windows have the signal there: requests meet what was measured before them."""
    if signal.name in evidence.compared[1]:
        return evidence.numbers[1]
    frame = frame_with(evidence, signal)
    return frame if isinstance(frame, Reading) else frame.rows


def _stretches(evidence: Evidence, rows: pd.DataFrame, signal: Signal) -> list[Floats]:
    """Per window the means by block of the longest life in it."""
    return [max(_lives(evidence, rows[side], signal), key=len) for side in periods(rows)]


def _lives(evidence: Evidence, rows: pd.DataFrame, signal: Signal) -> list[Floats]:
    """Means by block in order of time, cut where the engine started again; never empty.

    A row during which it started tells of both lives, and so of neither.
    """
    starts, ends = (_times(evidence, names) for names in (STARTS, ENDS))
    values, at = rows[signal.name].to_numpy(dtype=float), rows["start"].to_numpy(dtype=np.int64)
    whole = np.searchsorted(starts, at - STAMP_NS) == np.searchsorted(starts, at + ROW_NS)
    known = whole & ~_down(at, starts, ends) & ~np.isnan(values) & np.any(periods(rows), axis=0)
    life = np.searchsorted(starts, at[known], side="right")
    pairs = np.stack([life, block_codes(rows)[known]], axis=1)
    found, place = np.unique(pairs, axis=0, return_inverse=True)
    means = np.bincount(place, values[known]) / np.bincount(place)
    began = np.full(len(found), np.iinfo(np.int64).max)
    np.minimum.at(began, place, at[known])
    order = np.argsort(began, kind="stable")
    lives = found[order, 0]
    return [means[order][lives == life] for life in np.unique(lives)] or [np.empty(0)]


def _times(evidence: Evidence, names: Collection[str]) -> Ints:
    return np.sort(np.array([event.unix_nano for event in evidence.events if event.name in names], dtype=np.int64))


def _down(at: Ints, starts: Ints, ends: Ints) -> Bools:
    """Rows that reach into the time from an end to the start that followed it."""
    down = np.zeros(len(at), dtype=bool)
    for before, start in pairwise([np.iinfo(np.int64).min, *starts.tolist()]):
        mine = ends[(ends > before) & (ends <= start)]
        if len(mine):
            down |= (at + ROW_NS > mine[-1]) & (at < start)
    return down


def _steadiness(means: Floats) -> float:
    """Spearman's correlation with time; 0 where nothing moved."""
    ranks = ranked(means)
    return 0.0 if len(np.unique(ranks)) < 2 else float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
