"""Stretches of time that stand out in a signal, and the moment at which a change really began."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BLOCK_NS, Evidence, Window, Windows
from correlator.model.names import Signal

GRID = 80
"""Stretches are searched on at most this many cells (their number costs squared); longer data gets longer cells."""
SHUFFLES = 99
MIN_CELLS = MIN_BLOCKS
ONSET_NS = 60_000_000_000
"""How wrong a given onset may be (DESIGN 5); at most a third of the shorter window."""
CLEARER = 1.25
"""A moved onset must separate the windows by this much more than the given one did."""


def stretches(evidence: Evidence, signals: Iterable[Signal]) -> list[Windows]:
    """For each signal: the stretch, and the one up to the end, that stand out most.

    Each must score higher than nearly all best stretches of the same cells shuffled.
    """
    found = []
    for signal in signals:
        cells = _cells(evidence, signal, BLOCK_NS)
        if cells is None or cells["value"].nunique() < 3:
            continue
        for to_the_end in (False, True):
            stretch = _standing_out(cells["value"].to_numpy(dtype=float), to_the_end)
            if stretch is not None:
                found.append(_windows(cells, *stretch))
    return found


def refined(evidence: Evidence, windows: Windows, signal: Signal) -> Windows:
    """The same windows with the onset where the signal really changed, if that is near and clearer.

    Windows with idle time between them (a restart) are left as they are.
    """
    base, incident = windows.baseline, windows.incident
    reach = min(ONSET_NS, (base.end - base.start) // 3, (incident.end - incident.start) // 3)
    cells = _cells(evidence, signal, BLOCK_NS // 2, Window(base.start, incident.end))
    if cells is None or incident.start - base.end > BLOCK_NS:
        return windows
    starts, values = cells["start"].to_numpy(dtype=np.int64), cells["value"].to_numpy(dtype=float)
    cuts = [c for c in range(MIN_CELLS, len(values) - MIN_CELLS) if abs(starts[c] - incident.start) <= reach]
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
    starts, values = cells["start"].to_numpy(dtype=np.int64), cells["value"].to_numpy(dtype=float)
    cuts = [c for c in range(MIN_CELLS, len(values) - MIN_CELLS) if near.start <= starts[c] <= near.end]
    if not cuts:
        return None
    scores = [abs(_separation(values, c)) for c in cuts]
    return int(starts[cuts[int(np.argmax(scores))]])


def _standing_out(values: np.ndarray, to_the_end: bool) -> tuple[int, int] | None:
    shuffled = np.random.default_rng(len(values)).permuted(np.tile(values, (SHUFFLES, 1)), axis=1)
    scores, i, j = _scan(np.vstack([values, shuffled]), to_the_end)
    return (int(i), int(j)) if np.sum(scores[1:] >= scores[0]) + 1 <= 0.05 * (SHUFFLES + 1) else None


def _windows(cells: pd.DataFrame, i: int, j: int) -> Windows:
    starts, width = cells["start"].to_numpy(dtype=np.int64), cells.attrs["width"]
    return Windows(Window(int(starts[0]), int(starts[i])), Window(int(starts[i]), int(starts[j - 1]) + width))


def _cells(evidence: Evidence, signal: Signal, width: int, within: Window | None = None) -> pd.DataFrame | None:
    """Mean of the signal by cell of equal width (at least `width` ns), logarithmic for times."""
    frames = (f for f in (evidence.requests, evidence.series) if signal.name in f and f[signal.name].notna().any())
    marked = next(frames, None)
    if marked is None:
        return None
    rows = marked[marked[signal.name].notna()]
    if within is not None:
        rows = rows[(rows["start"] >= within.start) & (rows["start"] < within.end)]
    if rows.empty:
        return None
    extent = int(rows["start"].max() - rows["start"].min())
    width = max(width, -(-extent // (GRID * BLOCK_NS)) * BLOCK_NS)
    cell = (rows["start"] - rows["start"].min()) // width
    value = rows[signal.name].astype(float).groupby(cell).mean()
    table = pd.DataFrame({"start": value.index * width + rows["start"].min(), "value": value.to_numpy()})
    if signal.unit == "s":
        table["value"] = np.log(table["value"].clip(lower=1e-6))
    table.attrs["width"] = width
    return table if len(table) >= 2 * MIN_CELLS else None


def _scan(rows: np.ndarray, to_the_end: bool = False) -> tuple[np.ndarray, int, int]:
    """For each row the largest t-like score of a later stretch [i, j) against everything before it.

    `i` and `j` are those of the first row.
    """
    count = rows.shape[1]
    i, j = np.meshgrid(np.arange(MIN_CELLS, count - MIN_CELLS + 1), np.arange(2 * MIN_CELLS, count + 1), indexing="ij")
    ok = (j - i >= MIN_CELLS) & ((j == count) | (not to_the_end))
    i, j = i[ok], j[ok]
    total, square = (np.pad(np.cumsum(power, axis=1), ((0, 0), (1, 0))) for power in (rows, rows**2))
    inside, before = j - i, i
    mean_in, mean_before = (total[:, j] - total[:, i]) / inside, total[:, i] / before
    spread = (square[:, j] - square[:, i] - inside * mean_in**2) + (square[:, i] - before * mean_before**2)
    error = np.sqrt(np.maximum(spread / np.maximum(inside + before - 2, 1), 1e-12) * (1 / inside + 1 / before))
    score = (mean_in - mean_before) / error
    at = int(np.argmax(score[0]))
    return score.max(axis=1), int(i[at]), int(j[at])


def _separation(values: np.ndarray, cut: int) -> float:
    """Welch-like score of the cells from `cut` on against those before."""
    before, after = values[:cut], values[cut:]
    error = np.sqrt(max(before.var() / len(before) + after.var() / len(after), 1e-12))
    return float((after.mean() - before.mean()) / error)
