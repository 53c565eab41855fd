"""Effects between two windows, with intervals that count blocks, not requests.

Requests of one block shared their circumstances (DESIGN 1), so blocks are resampled (block bootstrap) and the
interval takes Student's t with Welch's degrees of freedom, because a window often has only seven blocks.
Every draw comes from a fixed seed: same input, same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from correlator.model.evidence import BASELINE, INCIDENT, Interval

Floats = NDArray[np.float64]

DRAWS = 400
"""Bootstrap draws: the standard error of a standard error from 400 draws is 3.5 %."""
MIN_BLOCKS = 3
"""Fewer blocks in a window give no usable variance between blocks."""
TAIL = 0.05
"""One-sided error on each side of an interval."""
FLOOR = 1e-9
"""Added before logarithms, so that a part that was exactly zero has a (huge) ratio instead of none."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An interval, the one-sided p-values for "above" and "below" the null, and the blocks it rests on."""

    interval: Interval
    p_above: float
    p_below: float
    blocks: int


def ratio(frame: pd.DataFrame, column: str, statistic: str = "mean", weight: str | None = None) -> Effect | None:
    """Incident over baseline of a column's mean, "median" or "p95"; None when a window has too few blocks."""
    sides = _sides(frame, column, statistic, weight)
    return _compare(sides, lambda mean: np.log(np.maximum(mean, 0.0) + FLOOR), np.exp, "ratio")


def difference(
    frame: pd.DataFrame, column: str, statistic: str = "mean", weight: str | None = None, unit: str = ""
) -> Effect | None:
    """Incident minus baseline, in the column's own unit."""
    return _compare(_sides(frame, column, statistic, weight), lambda mean: mean, lambda x: x, unit)


def share_of_change(frame: pd.DataFrame, part: Floats, total: Floats) -> Effect | None:
    """How much of the change of mean `total` is the change of mean `part`: 0 none, 1 all of it.

    Both means are drawn from the same blocks, so noise they share cancels. None without enough blocks or
    when `total` did not grow.
    """
    table = frame[["period", "block"]].assign(part=part, total=total).dropna()
    draws: dict[str, Floats] = {}
    points: dict[str, Floats] = {}
    blocks = []
    for side in (BASELINE, INCIDENT):
        sums = table[table["period"] == side].groupby("block")[["part", "total"]].agg(["sum", "count"])
        if len(sums) < MIN_BLOCKS:
            return None
        value = sums.to_numpy(dtype=float)
        weights = _multinomial(len(value))
        drawn = weights @ value
        draws[side] = drawn[:, [0, 2]] / np.maximum(drawn[:, [1, 3]], 1)
        points[side] = value[:, [0, 2]].sum(axis=0) / value[:, [1, 3]].sum(axis=0)
        blocks.append(len(value))
    change = points[INCIDENT] - points[BASELINE]
    if change[1] <= 0:
        return None
    drawn = draws[INCIDENT] - draws[BASELINE]
    grew = drawn[:, 1] > 0.1 * change[1]
    if grew.sum() < DRAWS // 10:
        return None
    shares = drawn[grew, 0] / drawn[grew, 1]
    low, high = (float(x) for x in np.quantile(shares, [TAIL, 1 - TAIL]))
    value_ = float(change[0] / change[1])
    return Effect(
        Interval(value_, min(low, value_), max(high, value_), "1"),
        p_above=float((np.sum(shares <= 0) + 1) / (len(shares) + 1)),
        p_below=float((np.sum(shares >= 0) + 1) / (len(shares) + 1)),
        blocks=min(blocks),
    )


def rank_correlation(frame: pd.DataFrame, effect: str, cause: str) -> Effect | None:
    """Spearman's correlation of two columns over rows, its error from resampled blocks (Fisher's z).

    None when a column does not vary or there are too few blocks.
    """
    table = frame[["block", effect, cause]].dropna()
    codes, uniques = pd.factorize(table["block"])
    if len(uniques) < 2 * MIN_BLOCKS or table[effect].nunique() < 3 or table[cause].nunique() < 2:
        return None
    ranks = table[[effect, cause]].rank().to_numpy(dtype=float)
    ranks = (ranks - ranks.mean(axis=0)) / len(ranks)
    products = np.column_stack(
        [np.ones(len(ranks)), ranks, ranks[:, 0] ** 2, ranks[:, 1] ** 2, ranks[:, 0] * ranks[:, 1]]
    )
    sums = np.stack([np.bincount(codes, p, len(uniques)) for p in products.T], axis=1)
    point = _pearson(sums.sum(axis=0, keepdims=True))[0]
    drawn = _pearson(_multinomial(len(uniques)) @ sums)
    return _interval(float(np.arctanh(point)), float(np.arctanh(drawn).std()), len(uniques) - 2, np.tanh, "1", len(uniques))


def _pearson(sums: Floats) -> Floats:
    n, sx, sy, sxx, syy, sxy = sums.T
    covariance = sxy - sx * sy / n
    variance = (sxx - sx**2 / n) * (syy - sy**2 / n)
    return np.clip(covariance / np.sqrt(np.maximum(variance, 1e-18)), -0.9999, 0.9999)


@dataclass(frozen=True, slots=True)
class _Side:
    sums: Floats
    counts: Floats


def _sides(frame: pd.DataFrame, column: str, statistic: str, weight: str | None) -> tuple[_Side, _Side] | None:
    sides = []
    for period in (BASELINE, INCIDENT):
        side = _side(frame[frame["period"] == period], column, statistic, weight)
        if len(side.sums) < MIN_BLOCKS:
            return None
        sides.append(side)
    return sides[0], sides[1]


def _side(rows: pd.DataFrame, column: str, statistic: str, weight: str | None) -> _Side:
    rows = rows[rows[column].notna()]
    value = rows[column].astype(float)
    mass = rows[weight].fillna(0.0).astype(float) if weight else pd.Series(1.0, index=rows.index)
    by = rows["block"]
    counts = mass.groupby(by).sum()
    if statistic == "mean":
        sums = (value * mass).groupby(by).sum()
    else:
        sums = value.groupby(by).quantile({"median": 0.5, "p95": 0.95, "p10": 0.1}[statistic]) * counts
    kept = counts > 0
    return _Side(sums[kept].to_numpy(dtype=float), counts[kept].to_numpy(dtype=float))


def _compare(
    sides: tuple[_Side, _Side] | None,
    scale: Callable[[Floats], Floats],
    back: Callable[[float], float],
    unit: str,
) -> Effect | None:
    if sides is None:
        return None
    points, variances, freedoms = [], [], []
    for side in sides:
        blocks = len(side.sums)
        weights = _multinomial(blocks)
        drawn = scale((weights @ side.sums) / np.maximum(weights @ side.counts, FLOOR))
        variances.append(float(drawn.var()) * blocks / (blocks - 1))
        freedoms.append(blocks - 1)
        points.append(float(scale(np.asarray([side.sums.sum() / side.counts.sum()]))[0]))
    error2 = sum(variances)
    freedom = error2**2 / max(sum(v**2 / f for v, f in zip(variances, freedoms, strict=True)), 1e-300)
    blocks = min(len(side.sums) for side in sides)
    return _interval(points[1] - points[0], error2**0.5, max(freedom, 1.0), back, unit, blocks)


def _interval(
    point: float, error: float, freedom: float, back: Callable[[float], float], unit: str, blocks: int
) -> Effect:
    error = max(error, 1e-9)
    reach = float(stdtrit(freedom, 1 - TAIL)) * error
    p_above = float(stdtr(freedom, -point / error))
    interval = Interval(float(back(point)), float(back(point - reach)), float(back(point + reach)), unit)
    return Effect(interval, p_above=p_above, p_below=1.0 - p_above, blocks=blocks)


@lru_cache(maxsize=256)
def _multinomial(blocks: int) -> Floats:
    rng = np.random.default_rng(blocks)
    return rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=DRAWS).astype(float)


def false_discovery(p_values: list[float | None]) -> list[float | None]:
    """Benjamini-Hochberg adjusted p-values in the given order; None stays None."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 1.0
    for rank in range(len(known), 0, -1):
        p, i = known[rank - 1]
        running = min(running, p * len(known) / rank)
        adjusted[i] = running
    return adjusted
