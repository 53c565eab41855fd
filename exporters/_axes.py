"""Marks on a track, in percent of its length, and round ticks for its axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


@dataclass(frozen=True, slots=True)
class Tick:
    """A label at a percentage of its axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A coloured stretch of a track, in percent; `colour` numbers the ledger parts."""

    name: str
    left: float
    width: float
    colour: int
    label: str
    note: str = ""


def sane(value: float) -> bool:
    """Finite, and not so large that arithmetic on it would overflow."""
    return math.isfinite(value) and abs(value) < 1e100


def nice(low: float, high: float, count: int = 4) -> list[float]:
    """About `count` round steps that cover low to high."""
    raw = max((high - low) / count, 1e-100) if high > low else 1.0 / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def octaves(low: float, high: float) -> list[float]:
    """About six whole powers of two around the effects and 1."""
    first, last = min(math.floor(low), -1), max(math.ceil(high), 1)
    step = -(-(last - first) // 6)
    return [float(i) for i in range(first // step * step, last + step, step)]


def clock_ticks(start: int, end: int) -> range:
    """Times (Unix ns) at whole steps of the clock, at most about seven."""
    span_s = (end - start) / 1e9
    step_s = next((s for s in _STEPS_S if span_s / s <= 6), math.ceil(span_s / 6 / 86400) * 86400)
    step = step_s * 1_000_000_000
    return range(-(-start // step) * step, end + 1, step)
