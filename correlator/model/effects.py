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

from correlator.model import student
from correlator.model.evidence import BASELINE, INCIDENT, Interval
from correlator.model.worth import ENDLESS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Codes = Ints

DRAWS = 400
"""Bootstrap draws: the standard error of a standard error from 400 draws is 3.5 %."""
MIN_BLOCKS = 3
"""Fewer blocks in a window give no usable variance between blocks."""
TAIL = 0.05
"""One-sided error on each side of an interval."""
MIN_HISTORY = 20
"""From this many blocks on the baseline's own history says how far neighbours resemble each other (the standard error
of an autocorrelation is then 0.22); on fewer, the smallest effect worth naming has to stand in for it."""
MOST_ALIKE = 0.9
"""A higher autocorrelation could not be told from a trend."""
QUANTILES = {"p10": 0.1, "median": 0.5, "p95": 0.95}
RAGGED = 0.5
"""Standard error of a mean over the mean, from which the mean's logarithm is too skewed to be taken for normal: zero
then lies within two standard errors."""
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
    if sides is not None and any(_ragged(side) for side in sides):
        return _of_ragged(*sides)
    return _compare(sides, lambda mean: np.log(np.maximum(mean, 0.0) + FLOOR), np.exp, "ratio")


def difference(
    frame: pd.DataFrame, column: str, statistic: str = "mean", weight: str | None = None, unit: str = ""
) -> Effect | None:
    """Incident minus baseline, in the column's own unit."""
    return _compare(_sides(frame, column, statistic, weight), lambda mean: mean, lambda x: x, unit)


def against_history(frame: pd.DataFrame, column: str, relative: bool, weight: str | None = None) -> Effect | None:
    """Incident over baseline (`relative`), or minus it, judged by how far apart the baseline's own blocks lie.

    A few blocks of an incident say little of their own variance, and if nothing is wrong it is the baseline's. Of their
    mean and their median (whose variance is π/2 times a mean's) the nearer to the baseline counts, so that neither one
    burst nor the larger half stands for all of them. A share also varies with the number of requests behind it
    (binomial, one success and one failure added as in Agresti and Caffo 2000). None with too few blocks, or too short a
    history.
    """
    sides = _sides(frame, column, "mean", weight)
    if sides is None or len(sides[0].sums) < MIN_HISTORY:
        return None
    means = [side.sums / np.maximum(side.counts, FLOOR) for side in sides]
    before, after = (np.log(mean + FLOOR) if relative else mean for mean in means)
    error2 = float(before.var(ddof=1)) * _drift(sides[0]) * (1 / len(before) + np.pi / 2 / len(after))
    if not relative:
        error2 += sum(_binomial(side) for side in sides)
    back: Callable[[float], float] = np.exp if relative else float
    apart = min((float(middle - before.mean()) for middle in (after.mean(), np.median(after))), key=abs)
    unit = "ratio" if relative else ""
    return _interval(apart, error2**0.5, len(before) - 1, back, unit, min(len(before), len(after)))


def _binomial(side: _Side) -> float:
    """Variance of a share because only so many requests are behind it."""
    requests = float(side.counts.sum())
    share = (float(side.sums.sum()) + 1) / (requests + 2)
    return share * (1 - share) / (requests + 2)


def share_of_change(frame: pd.DataFrame, part: Floats, total: Floats) -> Effect | None:
    """How much of the change of mean `total` is the change of mean `part`: 0 none, 1 all of it.

    Both means are drawn from the same blocks, so noise they share cancels. None without enough blocks or
    when `total` did not grow.
    """
    known = ~(np.isnan(part) | np.isnan(total))
    codes = block_codes(frame)
    draws, points, blocks = {}, {}, []
    for side, when in zip((BASELINE, INCIDENT), periods(frame), strict=True):
        rows = known & when
        value = _sums(codes[rows], part[rows], total[rows])
        if len(value) < MIN_BLOCKS:
            return None
        drawn = _multinomial(len(value)) @ value
        draws[side] = drawn[:, 1:] / np.maximum(drawn[:, :1], 1)
        points[side] = value[:, 1:].sum(axis=0) / value[:, 0].sum()
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
    values = frame[[effect, cause]].to_numpy(dtype=float)
    known = ~np.isnan(values).any(axis=1)
    values = values[known]
    if len(values) < 2 * MIN_BLOCKS or any(len(np.unique(column)) < 2 for column in values.T):
        return None
    ranks = np.stack([ranked(column) for column in values.T], axis=1)
    ranks = (ranks - ranks.mean(axis=0)) / len(ranks)
    sums = _sums(block_codes(frame)[known], *ranks.T, ranks[:, 0] ** 2, ranks[:, 1] ** 2, ranks[:, 0] * ranks[:, 1])
    blocks = len(sums)
    if blocks < 2 * MIN_BLOCKS:
        return None
    point = _pearson(sums.sum(axis=0, keepdims=True))[0]
    drawn = _pearson(_multinomial(blocks) @ sums)
    error = float(np.arctanh(drawn).std())
    return _interval(float(np.arctanh(point)), error, blocks - 2, np.tanh, "1", blocks)


def _pearson(sums: Floats) -> Floats:
    n, sx, sy, sxx, syy, sxy = sums.T
    covariance = sxy - sx * sy / n
    variance = (sxx - sx**2 / n) * (syy - sy**2 / n)
    return np.asarray(np.clip(covariance / np.sqrt(np.maximum(variance, 1e-18)), -0.9999, 0.9999))


@dataclass(frozen=True, slots=True)
class _Side:
    """Per block its sum and its mass; `drawn`: the mean of each draw of as many blocks."""

    sums: Floats
    counts: Floats
    drawn: Floats


def _sides(frame: pd.DataFrame, column: str, statistic: str, weight: str | None) -> tuple[_Side, _Side] | None:
    values = frame[column].to_numpy(dtype=float)
    mass = np.nan_to_num(frame[weight].to_numpy(dtype=float)) if weight else np.ones(len(values))
    known = ~np.isnan(values) & (mass > 0)
    codes = block_codes(frame)
    sides = []
    for when in periods(frame):
        rows = known & when
        side = _side(codes[rows], values[rows], mass[rows], statistic)
        if side is None:
            return None
        sides.append(side)
    return sides[0], sides[1]


def _side(codes: Codes, values: Floats, mass: Floats, statistic: str) -> _Side | None:
    """A block's sum is its statistic times its mass; None of too few blocks."""
    _, counts, sums = _sums(codes, mass, values * mass).T
    if len(sums) < MIN_BLOCKS:
        return None
    if statistic != "mean":
        sums = _quantiles(codes, values, QUANTILES[statistic]) * counts
    weights = _multinomial(len(sums))
    return _Side(sums, counts, (weights @ sums) / np.maximum(weights @ counts, FLOOR))


def periods(frame: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows are of the baseline, and which of the incident."""
    period = frame["period"].array
    if isinstance(period, pd.Categorical):
        place = {name: code for code, name in enumerate(period.categories)}
        return period.codes == place.get(BASELINE, -2), period.codes == place.get(INCIDENT, -2)
    names = np.asarray(period, dtype=object)
    return names == BASELINE, names == INCIDENT


def block_codes(frame: pd.DataFrame) -> Codes:
    """A number for each row's block; sorted by name, like the blocks."""
    block = frame["block"].array
    if isinstance(block, pd.Categorical):
        return np.asarray(block.codes, dtype=np.int64)
    return np.asarray(pd.factorize(block, sort=True)[0], dtype=np.int64)


def _sums(codes: Codes, *columns: Floats) -> Floats:
    """One row a block that occurs: number of rows, then the sum of each column."""
    if not len(codes):
        return np.empty((0, 1 + len(columns)))
    count = np.bincount(codes).astype(float)
    table = np.stack([count, *(np.bincount(codes, column) for column in columns)], axis=1)
    return table[count > 0]


def _quantiles(codes: Codes, values: Floats, q: float) -> Floats:
    """The q-quantile of each block (linear interpolation), in order of code."""
    if not len(codes):
        return np.empty(0)
    ordered = values[np.lexsort((values, codes))]
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    at = first + q * (counts - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, first + counts - 1)
    return np.asarray(ordered[low] + (at - low) * (ordered[high] - ordered[low]))


def ranked(column: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank."""
    _, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    upper = np.cumsum(counts)
    return np.asarray((upper - (counts - 1) / 2)[inverse], dtype=float)


def _compare(
    sides: tuple[_Side, _Side] | None,
    scale: Callable[[Floats], Floats],
    back: Callable[[float], float],
    unit: str,
) -> Effect | None:
    if sides is None:
        return None
    (before, error_before, blocks), (after, error_after, others) = (_estimated(side, scale) for side in sides)
    error2, freedom = _together(sides, error_before, error_after)
    return _interval(after - before, error2**0.5, freedom, back, unit, min(blocks, others))


def _estimated(side: _Side, scale: Callable[[Floats], Floats]) -> tuple[float, float, int]:
    """The mean on a scale, its variance from resampled blocks, and the number of blocks."""
    blocks = len(side.sums)
    point = float(scale(np.asarray([side.sums.sum() / side.counts.sum()]))[0])
    return point, float(scale(side.drawn).var()) * blocks / (blocks - 1), blocks


def _together(sides: tuple[_Side, _Side], before: float, after: float) -> tuple[float, float]:
    """Variance of a difference of two means with these variances, and Welch's degrees of freedom."""
    drift, error2 = _drift(sides[0]), before + after
    parts = before**2 / (len(sides[0].sums) - 1) + after**2 / (len(sides[1].sums) - 1)
    return error2 * drift, max(error2**2 / max(parts, 1e-300) / drift, 1.0)


def _ragged(side: _Side) -> bool:
    """The mean is so uncertain that its logarithm is not near normal: a wait that hardly ever occurs, for one."""
    mean, error2, _ = _estimated(side, lambda mean: mean)
    return mean > 0 and error2 > (RAGGED * mean) ** 2


def _of_ragged(baseline: _Side, incident: _Side) -> Effect:
    """Ratio of two means by Fieller (1954): whether they differ is asked of the difference, which needs no logarithm.

    Where the baseline cannot be told from zero the ratio has no upper end (ENDLESS).
    """
    (before, v0, blocks), (after, v1, others) = (_estimated(side, lambda mean: mean) for side in (baseline, incident))
    error2, freedom = _together((baseline, incident), v0, v1)
    drift, t = error2 / max(v0 + v1, 1e-300), student.quantile(1 - TAIL, freedom)
    p_above = student.below((before - after) / max(error2**0.5, 1e-300), freedom)
    a, c = before**2 - t**2 * v0 * drift, after**2 - t**2 * v1 * drift
    root = max((before * after) ** 2 - a * c, 0.0) ** 0.5
    low = max((before * after - root) / a, 1 / ENDLESS) if a and c > 0 else 1 / ENDLESS
    high = min((before * after + root) / a, ENDLESS) if a > 0 else ENDLESS
    value = (after + FLOOR) / (before + FLOOR)
    interval = Interval(value, min(low, value), max(high, value), "ratio")
    return Effect(interval, p_above=p_above, p_below=1.0 - p_above, blocks=min(blocks, others))


def _drift(baseline: _Side) -> float:
    """How many times the variance of a mean is that of independent blocks, 1 where too few blocks tell.

    (1 + r) / (1 - r) for a first-order autocorrelation r (Bartlett 1946), freed of its bias -(1 + 3r) / n (Kendall
    1954); blocks are in order of time, host by host. Of the baseline only: a fault has a course of its own.
    """
    blocks = len(baseline.sums)
    if blocks < MIN_HISTORY:
        return 1.0
    means = baseline.sums / np.maximum(baseline.counts, FLOOR)
    apart = means - means.mean()
    alike = float(apart[1:] @ apart[:-1]) / max(float(apart @ apart), FLOOR**2)
    r = min(max((alike + 1 / blocks) / (1 - 3 / blocks), 0.0), MOST_ALIKE)
    return (1 + r) / (1 - r)


def _interval(
    point: float, error: float, freedom: float, back: Callable[[float], float], unit: str, blocks: int
) -> Effect:
    reach = student.quantile(1 - TAIL, freedom) * error
    p_above = student.below(-point / max(error, 1e-12), freedom)
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
