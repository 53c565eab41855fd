"""The symptom over time as an SVG path between two axes, with both windows shaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING

from exporters import _numbers as n
from exporters._axes import Segment, Tick, clock_ticks, nice, sane

if TYPE_CHECKING:
    from correlator.model.evidence import Windows
    from correlator.model.findings import Illustration

MAX_POINTS = 400
WIDTH, HEIGHT = 1000, 240
"""Of the view box."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The symptom over time: an SVG path, the two windows, both axes and the same in words."""

    path: str
    shades: tuple[Segment, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    words: str


def timeline(drawn: Illustration, windows: Windows | None) -> Timeline | None:
    """None when fewer than two points are finite."""
    finite = sorted((t, v) for t, v in drawn.timeline if sane(v))
    if len(finite) < 2 or finite[0][0] == finite[-1][0]:
        return None
    points = _thinned(finite)
    start, end = points[0][0], points[-1][0]
    up = nice(min(0.0, *(v for _, v in points)), max(0.0, *(v for _, v in points)))
    low, high = up[0], up[-1]

    def x(unix_nano: float) -> float:
        return min(100.0, max(0.0, (unix_nano - start) / (end - start) * 100))

    def y(value: float) -> float:
        return (high - value) / (high - low) * 100

    shades = [] if windows is None else [("baseline", windows.baseline), ("incident", windows.incident)]
    return Timeline(
        path=_path([(t, x(t) * WIDTH / 100, y(v) * HEIGHT / 100) for t, v in points]),
        shades=tuple(Segment(s, x(w.start), x(w.end) - x(w.start), 0, s) for s, w in shades),
        across=tuple(Tick(x(t), n.clock(t)) for t in clock_ticks(start, end)),
        up=tuple(Tick(y(v), n.quantity(v, drawn.unit)) for v in up),
        words=_timeline_words(finite, drawn.unit, windows),
    )


def _thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most MAX_POINTS, each the mean of its neighbours."""
    size = -(-len(points) // MAX_POINTS)
    groups = (points[i : i + size] for i in range(0, len(points), size))
    return [(g[len(g) // 2][0], fmean(v for _, v in g)) for g in groups]


def _path(points: Sequence[tuple[int, float, float]]) -> str:
    """A line that is broken where points are missing, so that no data never looks like data."""
    gap = 2.5 * median(b[0] - a[0] for a, b in pairwise(points))
    previous = None
    steps = []
    for t, x, y in points:
        joined = previous is not None and t - previous <= gap
        steps.append(f"{'L' if joined else 'M'}{x:.1f} {y:.1f}" + ("" if joined else "h0"))
        previous = t
    return "".join(steps)


def _timeline_words(points: Sequence[tuple[int, float]], unit: str, windows: Windows | None) -> str:
    values = [v for _, v in points]
    said = [
        f"{len(points)} points from {n.moment(points[0][0])} to {n.moment(points[-1][0])}, "
        f"between {n.quantity(min(values), unit)} and {n.quantity(max(values), unit)}."
    ]
    for name, window in () if windows is None else (("baseline", windows.baseline), ("incident", windows.incident)):
        inside = [v for t, v in points if window.start <= t < window.end]
        said.append(f"Median in the {name}: {n.quantity(median(inside), unit) if inside else 'no points'}.")
    return " ".join(said)
