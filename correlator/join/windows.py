"""Which two stretches of time to compare, when nobody says.

First the moments at which something is known to have happened (a start, a new instance, a changed
configuration) are tried as the boundary; few tests, so small data suffices. Then every stretch of blocks is
tried as the incident, and the best one must beat the best ones of shuffled blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.join.symptom import CANDIDATES, find_symptom
from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BLOCK_NS, Evidence, Kind, Symptom, Window, Windows, with_windows
from correlator.model.names import LATENCY, Signal

GRID = 120
"""Stretches are searched on at most this many cells; longer data gets longer cells."""
SHUFFLES = 99
SEARCHED = 10
"""Independent pairs of windows that a search over all stretches amounts to (Bonferroni)."""
MOMENTS = frozenset({"engine_start", "engine_dead", "instance_start", "deploy", "restart"})
MIN_CELLS = MIN_BLOCKS


def with_found_windows(evidence: Evidence, kind: Kind | None = None) -> Evidence:
    """Evidence with windows and symptom; both None when there is no activity to compare."""
    active = _activity(evidence)
    if len(active) < 2:
        return evidence
    pairs = _at_boundaries(evidence, active)
    best = _best(evidence, pairs, kind)
    if best is None:
        searched = _searched(evidence)
        best = _best(evidence, [searched], kind, SEARCHED) if searched is not None else None
    if best is not None:
        return _with(evidence, *best)
    fallback = with_windows(evidence, pairs[0] if pairs else _halves(active))
    return replace(fallback, symptom=find_symptom(fallback, kind)) if kind else fallback


def extent(evidence: Evidence) -> Window | None:
    """From the first activity to the last."""
    active = _activity(evidence)
    return Window(int(active[0]), int(active[-1]) + 1) if len(active) else None


def trimmed(windows: Windows, evidence: Evidence) -> Windows:
    """Windows without the idle stretches at their ends (a restart between them is in neither)."""
    active = _activity(evidence)

    def trim(window: Window) -> Window:
        inside = active[(active >= window.start) & (active < window.end)]
        return Window(int(inside[0]), int(inside[-1]) + 1) if len(inside) else window

    return Windows(trim(windows.baseline), trim(windows.incident), windows.given)


def _with(evidence: Evidence, windows: Windows, symptom: Symptom) -> Evidence:
    return replace(with_windows(evidence, windows), symptom=symptom)


def _activity(evidence: Evidence) -> np.ndarray:
    """Start times of requests, or of buckets in which requests were measured."""
    if len(evidence.requests):
        return np.sort(evidence.requests["start"].to_numpy(dtype=np.int64))
    series = evidence.series
    measured = [c for c in (f"n.{LATENCY.name}", "completion_rate", "generation_throughput") if c in series]
    if not measured:
        return np.sort(series["start"].to_numpy(dtype=np.int64)) if len(series) else np.array([], dtype=np.int64)
    busy = series[series[measured[0]].fillna(0) > 0]
    return np.sort(busy["start"].to_numpy(dtype=np.int64))


def _at_boundaries(evidence: Evidence, active: np.ndarray) -> list[Windows]:
    """One pair per distinct way the known moments cut the activity in two."""
    moments = sorted({e.unix_nano for e in evidence.events if e.name in MOMENTS} | set(_changes(evidence)))
    cuts = _apart(sorted({int(np.searchsorted(active, m)) for m in moments}), active)
    found = []
    for i, cut in enumerate(cuts):
        before = active[(cuts[i - 1] if i else 0) : cut]
        after = active[cut : (cuts[i + 1] if i + 1 < len(cuts) else len(active))]
        if all(part[-1] - part[0] >= (MIN_BLOCKS - 1) * BLOCK_NS for part in (before, after)):
            found.append(
                Windows(Window(int(before[0]), int(before[-1]) + 1), Window(int(after[0]), int(after[-1]) + 1))
            )
    return found


def _apart(cuts: list[int], active: np.ndarray) -> list[int]:
    """Cuts at least MIN_BLOCKS blocks of activity apart; of close ones, that at the longest idle stretch."""
    groups: list[list[int]] = []
    for cut in (c for c in cuts if 0 < c < len(active)):
        close = bool(groups) and active[cut] - active[groups[-1][-1]] < (MIN_BLOCKS - 1) * BLOCK_NS
        groups[-1].append(cut) if close else groups.append([cut])
    return [max(group, key=lambda c: active[c] - active[c - 1]) for group in groups]


def _changes(evidence: Evidence) -> Iterable[int]:
    seen: dict[tuple[str, str], str] = {}
    for fact in evidence.facts:
        key = (fact.name, fact.resource)
        if seen.get(key, fact.value) != fact.value:
            yield fact.unix_nano
        seen[key] = fact.value


def _best(
    evidence: Evidence, pairs: list[Windows], kind: Kind | None, tests: int = 1
) -> tuple[Windows, Symptom] | None:
    found = []
    for windows in pairs:
        symptom = find_symptom(with_windows(evidence, windows), kind, tests=tests * len(pairs))
        if symptom is not None:
            found.append((windows, symptom))
    return max(found, key=lambda pair: abs(np.log(max(pair[1].change.value, 1e-9)))) if found else None


def _halves(active: np.ndarray) -> Windows:
    middle = active[len(active) // 2]
    return Windows(Window(int(active[0]), int(middle)), Window(int(middle), int(active[-1]) + 1))


def _searched(evidence: Evidence) -> Windows | None:
    """The stretch that stands out most in any candidate signal, if shuffled cells rarely do as well."""
    best: tuple[float, Windows] | None = None
    for signal in dict.fromkeys(c.signal for c in CANDIDATES if not c.falls):
        cells = _cells(evidence, signal)
        if cells is None or cells["value"].nunique() < 3:
            continue
        score, i, j = _scan(cells["value"].to_numpy(dtype=float))
        rng = np.random.default_rng(len(cells))
        shuffled = [_scan(rng.permutation(cells["value"].to_numpy(dtype=float)))[0] for _ in range(SHUFFLES)]
        if np.sum(np.asarray(shuffled) >= score) + 1 > 0.05 * (SHUFFLES + 1):
            continue
        starts, width = cells["start"].to_numpy(dtype=np.int64), cells.attrs["width"]
        windows = Windows(Window(int(starts[0]), int(starts[i])), Window(int(starts[i]), int(starts[j - 1]) + width))
        if best is None or score > best[0]:
            best = (score, windows)
    return best[1] if best else None


def _cells(evidence: Evidence, signal: Signal) -> pd.DataFrame | None:
    """Mean of the signal by cell of equal width, logarithmic for times."""
    frames = (f for f in (evidence.requests, evidence.series) if signal.name in f and f[signal.name].notna().any())
    marked = next(frames, None)
    if marked is None:
        return None
    rows = marked[marked[signal.name].notna()]
    extent = int(rows["start"].max() - rows["start"].min())
    width = max(BLOCK_NS, -(-extent // (GRID * BLOCK_NS)) * BLOCK_NS)
    cell = (rows["start"] - rows["start"].min()) // width
    value = rows[signal.name].astype(float).groupby(cell).mean()
    table = pd.DataFrame({"start": value.index * width + rows["start"].min(), "value": value.to_numpy()})
    if signal.unit == "s":
        table["value"] = np.log(table["value"].clip(lower=1e-6))
    table.attrs["width"] = width
    return table if len(table) >= 2 * MIN_CELLS else None


def _scan(values: np.ndarray) -> tuple[float, int, int]:
    """Largest t-like score of a later stretch [i, j) against everything before it."""
    count = len(values)
    total = np.concatenate([[0.0], np.cumsum(values)])
    square = np.concatenate([[0.0], np.cumsum(values**2)])
    i, j = np.meshgrid(np.arange(MIN_CELLS, count - MIN_CELLS + 1), np.arange(2 * MIN_CELLS, count + 1), indexing="ij")
    ok = j - i >= MIN_CELLS
    inside, before = np.where(ok, j - i, 1), i
    mean_in, mean_before = (total[j] - total[i]) / inside, total[i] / before
    spread = (square[j] - square[i] - inside * mean_in**2) + (square[i] - before * mean_before**2)
    freedom = np.maximum(inside + before - 2, 1)
    error = np.sqrt(np.maximum(spread / freedom, 1e-12) * (1 / inside + 1 / before))
    score = np.where(ok, (mean_in - mean_before) / error, -np.inf)
    at = np.unravel_index(int(np.argmax(score)), score.shape)
    return float(score[at]), int(i[at]), int(j[at])
