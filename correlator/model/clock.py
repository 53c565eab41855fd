"""What time it may be: the wall clock, held against one that nobody sets.

A wall clock that jumps a year ahead must not make all that is kept look too old.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

JUMP_S = 60.0
"""Clocks are corrected by less; a difference beyond this is a jump."""


@dataclass(frozen=True, slots=True)
class Now:
    """The time by two clocks: what has happened by `earliest` has surely happened, what lies after `latest` has not."""

    earliest: datetime
    latest: datetime

    @property
    def jumped_s(self) -> float:
        """Seconds between the two where that is a jump, else 0."""
        apart = (self.latest - self.earliest).total_seconds()
        return apart if apart > JUMP_S else 0.0


def running_s() -> float:
    """Seconds that setting the clock leaves alone; those of sleep count, too, where the system counts them (Linux)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """The wall clock, and what it would be had nobody set it since this was made. Both in seconds."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = running_s) -> None:
        self._wall, self._steady = wall, steady
        self._began = wall() - steady()

    def now(self) -> Now:
        """Both, the earlier first."""
        times = self._wall(), self._began + self._steady()
        return Now(*(datetime.fromtimestamp(seconds, UTC) for seconds in sorted(times)))
