"""Times as a person writes them."""

import pytest

from correlator.model.errors import InputError
from correlator.times import nanoseconds, window


@pytest.mark.parametrize("text", ["1e400", "-1e400", "inf", "nan", "tomorrow", ""])
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    """The flag and the text are named, whatever the number is."""
    with pytest.raises(InputError, match="--incident-window"):
        nanoseconds(text, "--incident-window")


def test_both_ways_of_writing_are_the_same_time() -> None:
    """RFC 3339 with and without a zone, and Unix seconds."""
    assert {1_796_009_716_500_000_000} == {
        nanoseconds(text, "")
        for text in ("1796009716.5", "2026-11-30T03:35:16.5Z", "2026-11-30T03:35:16.5", "2026-11-30T04:35:16.5+01:00")
    }
    assert 1.5 == window("1796009716/1796009717.5", "").seconds
