"""The stretches of time that a diagnosis reads, as a condition in SQL: partitions outside them are not opened."""

from __future__ import annotations

from correlator.model.evidence import Window, Windows

MARGIN_NS = 60_000_000_000
"""Read beyond both ends of a stretch: traces that reach across, and the point that a counter's rise starts from."""

Within = Window | Windows | None
"""One stretch, the two of a comparison without what lies between them, or everything there is."""


def during(column: str, within: Within) -> str:
    """The condition that a column of type DateTime64(9) lies in `within` or near its ends."""
    if within is None:
        return "1"
    stretches = (within,) if isinstance(within, Window) else (within.baseline, within.incident)
    return "(" + " OR ".join(_between(column, stretch) for stretch in stretches) + ")"


def _between(column: str, stretch: Window) -> str:
    start, end = (_literal(at) for at in (stretch.start - MARGIN_NS, stretch.end + MARGIN_NS))
    return f"({column} >= {start} AND {column} < {end})"


def _literal(unix_nano: int) -> str:
    return f"fromUnixTimestamp64Nano(toInt64({max(0, int(unix_nano))}), 'UTC')"
