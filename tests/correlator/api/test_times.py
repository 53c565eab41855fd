"""Times of requests: RFC 3339, to the nanosecond, and nothing else."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.api.times import parsed
from correlator.model.moments import rfc3339

NANOSECONDS = st.integers(0, 7_258_118_400_000_000_000 - 1)


@given(NANOSECONDS)
def test_what_is_written_is_read(unix_nano: int) -> None:
    """Every time survives, to the nanosecond."""
    assert unix_nano == parsed(rfc3339(unix_nano))


@given(NANOSECONDS, st.integers(-14 * 60, 14 * 60))
def test_zones_are_the_same_moment(unix_nano: int, minutes: int) -> None:
    """However far from Greenwich."""
    moment = datetime.fromtimestamp(unix_nano // 10**9, UTC).astimezone(timezone(timedelta(minutes=minutes)))
    assert unix_nano // 10**9 * 10**9 == parsed(moment.isoformat())


def test_a_leap_second_is_the_second_after() -> None:
    """23:59:60 is there in RFC 3339, and in Unix time it is midnight."""
    assert parsed("2017-01-01T00:00:00.5Z") == parsed("2016-12-31T23:59:60.5Z")


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.lists(st.text())))
def test_anything_else_is_refused(value: object) -> None:
    """No other text, and no number, is a time."""
    with pytest.raises(ValueError, match="expected a time"):
        parsed(value)


@pytest.mark.parametrize(
    "text", ["2026-11-30", "2026-11-30T03:35Z", "2026-11-30 03:35:00Z", "2026-11-30T03:35:00", "1969-12-31T23:59:59Z",
             "2200-01-01T00:00:00Z", "2026-11-30T03:35:00+0100", "٢٠٢٦-11-30T03:35:00Z"]
)  # fmt: skip
def test_what_looks_like_a_time_and_is_none(text: str) -> None:
    """Without zone or seconds, or out of range."""
    with pytest.raises(ValueError, match="expected a time"):
        parsed(text)


@pytest.mark.parametrize(
    "text", ["2026-02-30T03:35:00Z", "2026-11-30T25:35:00Z", "2026-11-30T03:35:61Z", "2026-11-30T03:35:00+25:00"]
)
def test_days_and_hours_that_do_not_exist(text: str) -> None:
    """A calendar that has no such day refuses it."""
    with pytest.raises(ValueError):
        parsed(text)
