"""Times by a clock whose zone nobody names."""

import pytest

from collector.files._local_clock import Shift, naive_unix_nano, shift_to
from collector.files._times import SECOND

UNKNOWN = ["02500304 17:04:43", "1970/01/01 00:00:00", "2262/01/01 00:00:00", "20250304 25:04:43"]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_time_that_cannot_be_is_none(text: str) -> None:
    """One damaged year does not cost the rest of the file: neither OTLP nor the tables could hold it."""
    assert naive_unix_nano(text) is None


def test_a_time_is_taken_as_utc() -> None:
    """To the microsecond."""
    assert 1_741_107_883_250_000_000 == naive_unix_nano("2025/03/04 17:04:43.250")


NEAR = 1_796_009_400 * SECOND
HOUR = 3_600 * SECOND


def of(shift_s: int, minutes: int) -> tuple[int, int]:
    """First and last time of a recording around `NEAR` by a clock that is `shift_s` ahead of UTC."""
    ahead, half = shift_s * SECOND, minutes * 30 * SECOND
    return NEAR + ahead - half, NEAR + ahead + half


@pytest.mark.parametrize("hours", [-9.5, -1, 1, 5.5, 5.75, 13])
def test_a_short_recording_tells_its_zone(hours: float) -> None:
    """One shift of whole hours, halves or quarters fits, and it is said."""
    shift = shift_to(of(round(hours * 3600), 10), NEAR)
    assert (round(-hours * HOUR), f"{-hours:+g} h puts them") == (
        shift.nano,
        shift.said[20:][: len(f"{-hours:+g} h puts them")],
    )


def test_a_clock_on_utc_needs_no_word() -> None:
    """Nothing is moved and nothing is said; nor is it where there are no times."""
    assert Shift(0, "") == shift_to(of(0, 10), NEAR) == shift_to([], NEAR)


def test_a_recording_longer_than_an_offset_has_several_zones() -> None:
    """Whole hours that fit as well are said, however the choice falls."""
    assert Shift(
        0,
        "times have no zone and 7 whole hours (-3 to +3 h) would put them beside the other files: they are read as UTC",
    ) == shift_to(of(0, 6 * 60), NEAR)
    later = shift_to(of(8 * 3600, 3 * 60), NEAR)
    assert (-7 * HOUR, True) == (later.nano, "3 whole hours (-9 to -7 h)" in later.said and "at -7 h" in later.said)


def test_without_another_file_or_far_from_all_times_are_utc() -> None:
    """Both are said, in words that tell them apart."""
    alone, far = shift_to(of(3600, 10), None), shift_to(of(48 * 3600, 10), NEAR)
    assert (0, 0) == (alone.nano, far.nano)
    assert ("no other file tells it" in alone.said, "lie far from" in far.said) == (True, True)
