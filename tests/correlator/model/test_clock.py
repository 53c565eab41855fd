"""The wall clock and one that nobody sets."""

from datetime import UTC, datetime

import pytest

from correlator.model.clock import Clock


@pytest.mark.parametrize(
    ("wall", "earliest", "latest", "jumped_s"),
    [(1_010.0, 1_010, 1_010, 0), (1_040.0, 1_010, 1_040, 0), (9_010.0, 1_010, 9_010, 8_000), (10.0, 10, 1_010, 1_000)],
)
def test_a_jump_is_seen(wall: float, earliest: int, latest: int, jumped_s: float) -> None:
    """Ten seconds later: the wall clock as it should be, corrected a little, far ahead, far back."""
    walls, running = iter([1_000.0, wall]), iter([5.0, 15.0])
    now = Clock(lambda: next(walls), lambda: next(running)).now()
    assert (earliest, latest) == (now.earliest.timestamp(), now.latest.timestamp())
    assert jumped_s == now.jumped_s


def test_the_real_clocks_agree() -> None:
    """Without a jump both say what the system says."""
    now = Clock().now()
    assert abs(datetime.now(UTC) - now.earliest).total_seconds() < 60
    assert not now.jumped_s
