"""Keeps the tables within an age and a size: whole days go, the oldest first, and the beginning of one too large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from correlator.model.clock import Now
from correlator.store.store import Store

MARGIN = 1.2
"""Of a day that is too large so much more than the excess goes, so that the next round has nothing to do."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the tables held after a round of dropping, the oldest day, and the days that were dropped.

    `shortened` says whether the beginning of the last day was deleted; its disk is given back within minutes.
    """

    bytes: int
    oldest: date | None
    dropped: tuple[date, ...]
    shortened: bool = False


def expire(store: Store, max_age_days: float, max_bytes: int, now: Now) -> Held:
    """Drop the days older than `max_age_days` and what exceeds `max_bytes`. StoreError passes.

    Days after tomorrow are a wrong clock's: they go first. Where it may be one time or another, what is too old, or to
    come, must be so by both.
    """
    first, last = (now.earliest - timedelta(days=max_age_days)).date(), (now.latest + timedelta(days=1)).date()
    with store.exclusively():
        sizes = _days(store)
        dropped = tuple(_beyond(sizes, first, last, max_bytes))
        for day in dropped:
            for table in _tables(store, day):
                store.query(f"ALTER TABLE {table} DROP PARTITION {{day:String}}", day=day.isoformat())
            del sizes[day]
        held = sum(sizes.values())
        if held > max_bytes and sizes:
            _shorten(store, max(sizes), min(1.0, MARGIN * (held - max_bytes) / held))
    return Held(held, min(sizes, default=None), dropped, shortened=held > max_bytes)


def _beyond(sizes: Counter[date], first: date, last: date, max_bytes: int) -> Iterator[date]:
    """Days that are too old; while it is too much, those of the future and then the oldest, but not the newest."""
    held = sum(sizes.values())
    believed = [day for day in sizes if day <= last]
    newest = max(believed, default=None)
    for day in sorted(sizes, key=lambda day: (day <= last, day)):
        if day < first or (held > max_bytes and day != newest):
            held -= sizes[day]
            yield day


def _shorten(store: Store, day: date, share: float) -> None:
    """Delete the first part of a day's time, in all tables alike."""
    spans = store.query(_SPANS, day=day.isoformat())
    low, high = int(spans["low"].min()), int(spans["high"].max())
    cut = low + int((high - low) * share)
    for table in _tables(store, day):
        column = _TIMES.get(table, "TimeUnix")
        store.query(_DELETE.format(table=table, column=column), day=day.isoformat(), cut=cut)


def _days(store: Store) -> Counter[date]:
    rows = store.query(_SIZES)
    return Counter({date.fromisoformat(row.day): int(row.size) for row in rows.itertuples()})


def _tables(store: Store, day: date) -> list[str]:
    return [str(name) for name in store.query(_WITH_DAY, day=day.isoformat())["table"]]


_TIMES = {
    "otel_traces": "Timestamp",
    "otel_traces_sixteenth": "Timestamp",
    "otel_traces_trace_id_ts": "Start",
    "otel_logs": "Timestamp",
}
"""The column a table is divided by; of metrics it is TimeUnix."""
_PARTS = r"FROM system.parts WHERE database = currentDatabase() AND active AND table LIKE 'otel\\_%'"
_SIZES = f"SELECT partition AS day, sum(bytes_on_disk) AS size {_PARTS} GROUP BY day"
_WITH_DAY = f"SELECT DISTINCT table {_PARTS} AND partition = {{day:String}} ORDER BY table"
_DELETE = """
ALTER TABLE {table} DELETE
WHERE toDate32({column}) = toDate32({{day:String}}) AND toUnixTimestamp64Nano({column}) < {{cut:Int64}}
SETTINGS mutations_sync = 1
"""
_METRICS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_SPANS = " UNION ALL ".join(
    f"""SELECT toUnixTimestamp64Nano(min({column})) AS low, toUnixTimestamp64Nano(max({column})) AS high FROM {table}
    WHERE toDate32({column}) = toDate32({{day:String}}) HAVING count() > 0"""
    for table, column in [("otel_traces", "Timestamp"), ("otel_logs", "Timestamp")]
    + [(f"otel_metrics_{kind}", "TimeUnix") for kind in _METRICS]
)
