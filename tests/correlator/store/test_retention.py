"""Days that are too old, or too much, go; nothing else does."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from benchmarks.generate import genai_trace_requests
from correlator.model.clock import Clock, Now
from correlator.model.records import Batch, Signal
from correlator.store import Store
from correlator.store.retention import expire

_ROWS = "SELECT count() AS n FROM otel_traces WHERE toDate32(Timestamp) = toDate32({day:String})"
_COPIED_AHEAD = """
INSERT INTO otel_traces SELECT * REPLACE (t.Timestamp + toIntervalYear(20) AS Timestamp) FROM otel_traces AS t LIMIT 1
"""
_COPIED_BACK = """
INSERT INTO otel_traces SELECT * REPLACE (t.Timestamp - toIntervalDay({n:UInt8}) AS Timestamp) FROM otel_traces AS t
WHERE toDate32(t.Timestamp) = (SELECT max(toDate32(Timestamp)) FROM otel_traces)
"""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.load(Batch(Signal.TRACES, request) for request in genai_trace_requests(30))
        for back in (1, 2, 3):
            store.query(_COPIED_BACK, n=back)
        assert 4 == len(days(store))
        yield store


def at(time: datetime) -> Now:
    return Now(time, time)


def days(store: Store) -> list[date]:
    return list(store.query("SELECT DISTINCT toDate32(Timestamp) AS day FROM otel_traces ORDER BY day")["day"])


def count(store: Store, day: date) -> int:
    return int(store.query(_ROWS, day=f"{day}")["n"][0])


def latest(store: Store) -> int:
    return int(store.query("SELECT toUnixTimestamp64Nano(max(Timestamp)) AS t FROM otel_traces")["t"][0])


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def test_days_beyond_the_age_are_dropped(store: Store) -> None:
    """Two days of age keep today and the two days before, in every table of spans."""
    before = days(store)
    held = expire(store, max_age_days=2, max_bytes=10**12, now=at(noon(before[-1])))
    assert (before[0],) == held.dropped
    assert before[1:] == days(store)
    assert before[1] == held.oldest
    assert before[1:] == list(
        store.query("SELECT DISTINCT toDate32(Start) AS day FROM otel_traces_trace_id_ts ORDER BY day")["day"]
    )


def test_a_day_beyond_the_age_goes_although_nothing_newer_came(store: Store) -> None:
    """A service that fell silent keeps nothing longer than it was told to."""
    before = days(store)
    held = expire(store, max_age_days=2, max_bytes=10**12, now=at(noon(before[-1]) + timedelta(days=30)))
    assert (tuple(before), 0) == (held.dropped, held.bytes)
    assert [] == days(store)


def test_the_oldest_go_first_when_it_is_too_much(store: Store) -> None:
    """Room for two days and a half keeps the newest two."""
    before = days(store)
    whole = expire(store, max_age_days=1000, max_bytes=10**12, now=at(noon(before[-1]))).bytes
    held = expire(store, max_age_days=1000, max_bytes=whole * 5 // 8, now=at(noon(before[-1])))
    assert tuple(before[:2]) == held.dropped
    assert before[2:] == days(store)
    assert not held.shortened


def test_a_single_day_that_is_too_much_loses_its_beginning(store: Store) -> None:
    """With room for less than the newest day its later part stays, and a further round finds less to do."""
    before = days(store)
    held = expire(store, max_age_days=1000, max_bytes=10**12, now=at(noon(before[-1])))
    spans = count(store, before[-1])
    late = latest(store)
    held = expire(store, max_age_days=1000, max_bytes=held.bytes // 8, now=at(noon(before[-1])))
    assert (tuple(before[:-1]), True) == (held.dropped, held.shortened)
    assert 0 < count(store, before[-1]) < spans
    assert late == latest(store)


def test_a_day_of_the_far_future_is_not_the_newest(store: Store) -> None:
    """One span from a clock that is years ahead does not cost the present its data."""
    before = days(store)
    store.query(_COPIED_AHEAD)
    ahead = days(store)[-1]
    whole = expire(store, max_age_days=1000, max_bytes=10**12, now=at(noon(before[-1]))).bytes
    held = expire(store, max_age_days=1000, max_bytes=whole - 1, now=at(noon(before[-1])))
    assert (ahead,) == held.dropped
    assert before == days(store)


def test_what_is_within_both_limits_stays(store: Store) -> None:
    """Nothing is dropped, twice."""
    before = days(store)
    for _ in range(2):
        assert () == expire(store, max_age_days=30, max_bytes=10**12, now=at(noon(before[-1]))).dropped
    assert before == days(store)


def test_an_empty_store_has_nothing_to_drop() -> None:
    """No days, no bytes, no error."""
    with Store.open() as store:
        held = expire(store, max_age_days=1, max_bytes=1, now=Clock().now())
    assert (0, None, ()) == (held.bytes, held.oldest, held.dropped)


def test_a_clock_that_jumps_drops_nothing(store: Store) -> None:
    """A year ahead by mistake, nothing is too old; a year back, nothing is of the future. By both clocks it is."""
    before = days(store)
    true, year = noon(before[-1]), timedelta(days=365)
    for now in (Now(true, true + year), Now(true - year, true)):
        assert () == expire(store, max_age_days=30, max_bytes=10**12, now=now).dropped
    whole = expire(store, 30, 10**12, at(true)).bytes
    assert tuple(before[:1]) == expire(store, 1000, whole - 1, Now(true - year, true)).dropped
    assert tuple(before[1:]) == expire(store, 30, 10**12, at(true + year)).dropped
