"""Where the marks of the report's charts go: percentages of a track, so that the page scales and prints.

Charts are plain HTML and SVG drawn from these numbers. A plotting library would add 4.8 MB and scripts to
a page that holds hostile text; without scripts the page can forbid them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from correlator.model.names import LEDGER, part_name
from exporters import _numbers as n
from exporters import _sentences as say
from exporters._axes import Segment, Tick, nice, octaves, sane

if TYPE_CHECKING:
    from correlator.model.evidence import Interval
    from correlator.model.findings import Bar, Finding, LedgerLine, PredictionResult, Waterfall

MAX_BARS = 100
_COLOURS = {part_name(signal): i for i, signal in enumerate(LEDGER)}


@dataclass(frozen=True, slots=True)
class Whisker:
    """A prediction's effect: interval and dot in percent of its axis, and the same in words."""

    hypothesis: str
    prediction: PredictionResult
    low: float
    dot: float
    high: float
    words: str


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects in one unit on one axis; `still` is where nothing changed."""

    unit: str
    still: float
    ticks: tuple[Tick, ...]
    rows: tuple[Whisker, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A span: how deep it lies, and its bar."""

    depth: int
    bar: Segment
    error: bool


def colour(part: str) -> int:
    """The number of the part's colour; unknown parts share the last."""
    return _COLOURS.get(part, len(_COLOURS))


def ledger(lines: Iterable[LedgerLine]) -> list[tuple[str, str, list[Segment]]]:
    """Baseline and incident as stacked bars on one scale: name, total in words, segments."""
    lines = [x for x in lines if sane(x.baseline_s) and sane(x.incident_s)]
    columns = (("Baseline", [x.baseline_s for x in lines]), ("Incident", [x.incident_s for x in lines]))
    scale = max((sum(max(0.0, t) for t in times) for _, times in columns), default=0.0)
    return [(name, n.quantity(sum(times), "s"), _stacked(lines, times, scale)) for name, times in columns if scale > 0]


def _stacked(lines: Sequence[LedgerLine], times: Sequence[float], scale: float) -> list[Segment]:
    left, segments = 0.0, []
    for line, seconds in zip(lines, times, strict=True):
        width = max(0.0, seconds) / scale * 100
        part = n.plain_name(line.part)
        label = part if width >= 1.1 * len(part) + 1 else ""
        segments.append(Segment(part, left, width, colour(line.part), label, n.quantity(seconds, "s")))
        left += width
    return segments


def effects(findings: Sequence[Finding]) -> list[Effects]:
    """The effects of these findings' predictions, one axis a unit; logarithmic where they are ratios."""
    by_unit: dict[str, list[tuple[str, PredictionResult, Interval]]] = {}
    for finding in findings:
        for prediction in finding.predictions:
            effect = prediction.reading.effect
            if effect is not None and _drawable(effect):
                by_unit.setdefault(effect.unit, []).append((finding.hypothesis, prediction, effect))
    return [_axis(unit, rows) for unit, rows in by_unit.items()]


def _drawable(effect: Interval) -> bool:
    bounds = (effect.low, effect.value, effect.high)
    return all(map(sane, bounds)) and (effect.unit != "ratio" or min(bounds) > 0)


def _axis(unit: str, rows: Sequence[tuple[str, PredictionResult, Interval]]) -> Effects:
    places = [[_place(bound, unit) for bound in (e.low, e.value, e.high)] for _, _, e in rows]
    bounds = [0.0, *(bound for place in places for bound in place)]
    ticks = (octaves if unit == "ratio" else nice)(min(bounds), max(bounds))

    def at(bound: float) -> float:
        return (bound - ticks[0]) / (ticks[-1] - ticks[0]) * 100

    return Effects(
        unit=unit,
        still=at(0.0),
        ticks=tuple(Tick(at(tick), _tick_label(tick, unit)) for tick in ticks),
        rows=tuple(
            Whisker(hypothesis, prediction, at(low), at(dot), at(high), say.numbers(prediction))
            for (hypothesis, prediction, _), (low, dot, high) in zip(rows, places, strict=True)
        ),
    )


def _place(bound: float, unit: str) -> float:
    """Ratios by their octaves, at most a million either way."""
    return max(-20.0, min(20.0, math.log2(bound))) if unit == "ratio" else bound


def _tick_label(tick: float, unit: str) -> str:
    if unit == "ratio":
        return f"×{2**tick:.3g}"
    return f"{tick:.3g}" if unit == "1" else n.quantity(tick, unit)


def waterfall(trace: Waterfall) -> list[Row]:
    """One row a span, the first MAX_BARS that have a length, on the scale of the whole trace."""
    spans = [b for b in trace.bars if sane(b.start_s) and sane(b.duration_s) and b.duration_s >= 0]
    start = min((b.start_s for b in spans), default=0.0)
    length = max((b.start_s + b.duration_s for b in spans), default=0.0) - start
    return [_row(span, start, length) for span in spans[:MAX_BARS]]


def _row(span: Bar, start: float, length: float) -> Row:
    left = min(100.0, (span.start_s - start) / length * 100) if length > 0 else 0.0
    bar = Segment(
        name=n.clean(span.name, 120) or "unnamed",
        left=left,
        width=min(100.0 - left, span.duration_s / length * 100) if length > 0 else 0.0,
        colour=colour(span.part),
        label=n.quantity(span.duration_s, "s"),
        note=n.clean(span.service, 120),
    )
    return Row(min(max(span.depth, 0), 8), bar, span.error)
