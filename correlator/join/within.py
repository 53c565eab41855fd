"""The stretches of time that a diagnosis reads, as a condition in SQL: partitions outside them are not opened."""

from __future__ import annotations

import time
from collections.abc import Mapping

from correlator.model.evidence import Window, Windows
from correlator.store import Store

MARGIN_NS = 60_000_000_000
"""Read beyond both ends of a stretch: traces that reach across, and the point that a counter's rise starts from."""

RECORDED = "bitAnd(Flags, 1) = 0"
"""A data point that says something; the flag marks one that says that its series ended (OTLP no_recorded_value)."""

Within = Window | Windows | None
"""One stretch, the two of a comparison without what lies between them, or everything there is."""


def during(column: str, within: Within) -> str:
    """The condition that a column of type DateTime64(9) lies in `within` or near its ends."""
    if within is None:
        return "1"
    return "(" + " OR ".join(_between(column, stretch) for stretch in stretches(within)) + ")"


def stretches(within: Window | Windows) -> tuple[Window, ...]:
    """What is read, without the margins."""
    return (within,) if isinstance(within, Window) else (within.baseline, within.incident)


def whole(within: Within, earlier_ns: int = 0) -> Window | None:
    """The one stretch from the beginning, or `earlier_ns` before it, to the end, with what lies between."""
    if within is None:
        return None
    first, last = (within, within) if isinstance(within, Window) else (within.baseline, within.incident)
    return Window(first.start - earlier_ns, last.end)


def told_last(store: Store, tables: Mapping[str, str]) -> int:
    """The latest time (Unix ns) in these tables, each with its column of time; 0 without any.

    A sender whose clock is wrong does not count, while others tell of times that have come: it would hide them all.
    """
    now = _literal(time.time_ns() + MARGIN_NS)
    union = " UNION ALL ".join(
        f"SELECT maxIf({column}, {column} <= {now}) AS come, max({column}) AS any FROM {table}"
        for table, column in tables.items()
    )
    found = store.query(
        f"SELECT toUnixTimestamp64Nano(max(come)) AS come, toUnixTimestamp64Nano(max(any)) AS any FROM ({union})"
    ).iloc[0]
    return int(found["come"]) or int(found["any"])


def _between(column: str, stretch: Window) -> str:
    start, end = (_literal(at) for at in (stretch.start - MARGIN_NS, stretch.end + MARGIN_NS))
    return f"({column} >= {start} AND {column} < {end})"


def _literal(unix_nano: int) -> str:
    return f"fromUnixTimestamp64Nano(toInt64({max(0, int(unix_nano))}), 'UTC')"
