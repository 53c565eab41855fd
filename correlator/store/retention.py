"""Keeps the tables within an age and a size: whole days are dropped, the oldest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from correlator.store.store import Store


@dataclass(frozen=True, slots=True)
class Held:
    """What the tables hold after a round: bytes, the oldest day, and the days that were dropped.

    `bytes` may exceed the limit where the newest day alone does: it is dropped for its age only.
    """

    bytes: int
    oldest: date | None
    dropped: tuple[date, ...]


def expire(store: Store, max_age_days: float, max_bytes: int, now: datetime | None = None) -> Held:
    """Drop the days older than `max_age_days` and, oldest first, those beyond `max_bytes`. StoreError passes."""
    first = ((now or datetime.now(UTC)) - timedelta(days=max_age_days)).date()
    with store.exclusively():
        sizes = _days(store)
        dropped = tuple(_beyond(sizes, first, max_bytes))
        for day in dropped:
            for table in _tables(store, day):
                store.query(f"ALTER TABLE {table} DROP PARTITION {{day:String}}", day=day.isoformat())
            del sizes[day]
    return Held(sum(sizes.values()), min(sizes, default=None), dropped)


def _beyond(sizes: Counter[date], first: date, max_bytes: int) -> Iterator[date]:
    held = sum(sizes.values())
    for day in sorted(sizes):
        too_much = held > max_bytes and day != max(sizes)
        if day >= first and not too_much:
            return
        held -= sizes[day]
        yield day


def _days(store: Store) -> Counter[date]:
    rows = store.query(_SIZES)
    return Counter({date.fromisoformat(row.day): int(row.size) for row in rows.itertuples()})


def _tables(store: Store, day: date) -> list[str]:
    return [str(name) for name in store.query(_WITH_DAY, day=day.isoformat())["table"]]


_PARTS = r"FROM system.parts WHERE database = currentDatabase() AND active AND table LIKE 'otel\\_%'"
_SIZES = f"SELECT partition AS day, sum(bytes_on_disk) AS size {_PARTS} GROUP BY day"
_WITH_DAY = f"SELECT DISTINCT table {_PARTS} AND partition = {{day:String}} ORDER BY table"
