"""Times by a clock whose zone nobody names."""

import pytest

from collector.files._local_clock import naive_unix_nano

UNKNOWN = ["02500304 17:04:43", "1970/01/01 00:00:00", "2262/01/01 00:00:00", "20250304 25:04:43"]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_time_that_cannot_be_is_none(text: str) -> None:
    """One damaged year does not cost the rest of the file: neither OTLP nor the tables could hold it."""
    assert naive_unix_nano(text) is None


def test_a_time_is_taken_as_utc() -> None:
    """To the microsecond."""
    assert 1_741_107_883_250_000_000 == naive_unix_nano("2025/03/04 17:04:43.250")
