"""Stretches of time that stand out in a signal, and the moment at which a change really began."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BLOCK_NS, Evidence, Window, Windows
from correlator.model.names import Signal

GRID = 80
"""Stretches are searched on at most this many cells (their number costs squared); longer data gets longer cells."""
SHUFFLES = 99
CHUNKS = 9
"""Parts in which the shuffles are looked at; most signals are decided by the first."""
MIN_CELLS = MIN_BLOCKS
ONSET_NS = 60_000_000_000
"""How wrong a given onset may be (DESIGN 5); at most a third of the window that gives way."""
CLEARER = 1.25
"""A moved onset must separate the windows by this much more than the given one did."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Means of a signal by stretch of time: where each begins (Unix ns), and how long all are (ns)."""

    starts: np.ndarray
    values: np.ndarray
    width: int


def stretches(evidence: Evidence, signals: Iterable[Signal]) -> list[Windows]:
    """For each signal: the stretch, and the one up to the end, that stand out most.

    Each must score higher than nearly all best stretches of the same cells shuffled.
    """
    found = []
    for signal in signals:
        cells = _cells(evidence, signal, BLOCK_NS)
        if cells is None or len(np.unique(cells.values)) < 3:
            continue
        for to_the_end in (False, True):
            stretch = _standing_out(cells.values, to_the_end)
            if stretch is not None:
                found.append(_windows(cells, *stretch))
    return found


def refined(evidence: Evidence, windows: Windows, signal: Signal) -> Windows:
    """The same windows with the onset where the signal really changed, if that is near and clearer.

    Windows with idle time between them (a restart) are left as they are.
    """
    base, incident = windows.baseline, windows.incident
    back, ahead = (min(ONSET_NS, (window.end - window.start) // 3) for window in (base, incident))
    cells = _cells(evidence, signal, BLOCK_NS // 2, Window(base.start, incident.end))
    if cells is None or incident.start - base.end > BLOCK_NS:
        return windows
    starts, values = cells.starts, cells.values
    cuts = [c for c in range(MIN_CELLS, len(values) - MIN_CELLS) if -back <= starts[c] - incident.start <= ahead]
    if not cuts:
        return windows
    scores = [abs(_separation(values, c)) for c in cuts]
    given = abs(_separation(values, int(np.searchsorted(starts, incident.start))))
    onset = int(starts[cuts[int(np.argmax(scores))]])
    if max(scores) < CLEARER * given:
        return windows
    return Windows(Window(base.start, onset), Window(onset, incident.end), windows.given)


def begun(evidence: Evidence, signal: Signal, within: Window, near: Window) -> int | None:
    """The moment in `near` that best separates the earlier values of the signal in `within` from the later ones;
    None where there are too few on either side."""
    cells = _cells(evidence, signal, BLOCK_NS // 2, within)
    if cells is None:
        return None
    starts, values = cells.starts, cells.values
    cuts = [c for c in range(MIN_CELLS, len(values) - MIN_CELLS) if near.start <= starts[c] <= near.end]
    if not cuts:
        return None
    scores = [abs(_separation(values, c)) for c in cuts]
    return int(starts[cuts[int(np.argmax(scores))]])


def _standing_out(values: np.ndarray, to_the_end: bool) -> tuple[int, int] | None:
    """Shuffles are looked at a few at a time, until so many scored as high that the others cannot matter any more."""
    values = values - values.mean()  # squares of bytes would leave no digits for what varies
    (score,), i, j = _scan(values[None, :], to_the_end)
    shuffled = np.random.default_rng(len(values)).permuted(np.tile(values, (SHUFFLES, 1)), axis=1)
    as_high, allowed = 0, int(0.05 * (SHUFFLES + 1)) - 1
    for some in np.array_split(shuffled, CHUNKS):
        as_high += int(np.sum(_scan(some, to_the_end)[0] >= score))
        if as_high > allowed:
            return None
    return i, j


def _windows(cells: Cells, i: int, j: int) -> Windows:
    starts = cells.starts
    return Windows(Window(int(starts[0]), int(starts[i])), Window(int(starts[i]), int(starts[j - 1]) + cells.width))


def _cells(evidence: Evidence, signal: Signal, width: int, within: Window | None = None) -> Cells | None:
    """Mean of the signal by cell of equal width (at least `width` ns), logarithmic for times."""
    frames = (f for f in (evidence.requests, evidence.series) if signal.name in f and f[signal.name].notna().any())
    marked = next(frames, None)
    if marked is None:
        return None
    start, value = marked["start"].to_numpy(dtype=np.int64), marked[signal.name].to_numpy(dtype=float)
    known = ~np.isnan(value)
    if within is not None:
        known &= (start >= within.start) & (start < within.end)
    if not known.any():
        return None
    start, value = start[known], value[known]
    first = int(start.min())
    width = max(width, -(-(int(start.max()) - first) // (GRID * BLOCK_NS)) * BLOCK_NS)
    cell = (start - first) // width
    count = np.bincount(cell)
    filled = np.flatnonzero(count)
    means = np.bincount(cell, value)[filled] / count[filled]
    if signal.unit == "s":
        means = np.log(np.maximum(means, 1e-6))
    cells = Cells(first + filled * width, means, width)
    return cells if len(means) >= 2 * MIN_CELLS else None


def _scan(rows: np.ndarray, to_the_end: bool = False) -> tuple[np.ndarray, int, int]:
    """For each row the largest t-like score of a later stretch [i, j) against everything before it.

    `i` and `j` are those of the first row. The tables are long (rows times stretches), so they are worked on in place.
    """
    i, j = _pairs(rows.shape[1], to_the_end)
    total, square = (np.pad(np.cumsum(power, axis=1), ((0, 0), (1, 0))) for power in (rows, rows**2))
    mean_in, mean_before, error = total.take(j, axis=1), total.take(i, axis=1), square.take(j, axis=1)
    mean_in -= mean_before
    mean_in /= j - i
    mean_before /= i
    error -= (j - i) * mean_in**2
    error -= i * mean_before**2
    error /= np.maximum(j - 2, 1)
    np.maximum(error, 1e-12, out=error)
    error *= 1 / (j - i) + 1 / i
    score = np.subtract(mean_in, mean_before, out=mean_in)
    score /= np.sqrt(error, out=error)
    at = int(np.argmax(score[0]))
    return score.max(axis=1), int(i[at]), int(j[at])


@lru_cache(maxsize=2 * GRID)
def _pairs(count: int, to_the_end: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where a stretch may begin and end."""
    i, j = np.meshgrid(np.arange(MIN_CELLS, count - MIN_CELLS + 1), np.arange(2 * MIN_CELLS, count + 1), indexing="ij")
    ok = (j - i >= MIN_CELLS) & ((j == count) | (not to_the_end))
    return i[ok], j[ok]


def _separation(values: np.ndarray, cut: int) -> float:
    """Welch-like score of the cells from `cut` on against those before."""
    before, after = values[:cut], values[cut:]
    error = np.sqrt(max(before.var() / len(before) + after.var() / len(after), 1e-12))
    return float((after.mean() - before.mean()) / error)
