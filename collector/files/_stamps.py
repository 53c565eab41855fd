"""Times as log lines write them. A stamp without a year gets the year that puts it nearest what is known."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from collector.files._times import SECOND

DAY_S = 86_400
ZONE_SLACK_S = 14 * 3600  # a local clock may be this far ahead of UTC and still not in the future
ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(?: ?(Z|UTC|[+-]\d\d:?\d\d)(?![\w.:]))?")
MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}


def iso_unix_nano(match: re.Match[str]) -> int | None:
    """The time an `ISO` match stands for (UTC where it names no zone), None if there is no such day."""
    seconds = _seconds(match[1], match[3])
    return None if seconds is None else seconds * SECOND + fraction_nano(match[2])


def fraction_nano(digits: str | None) -> int:
    """Nanoseconds of the digits after the decimal mark."""
    return int(digits.ljust(9, "0")[:9]) if digits else 0


@lru_cache(maxsize=4)
def _seconds(moment: str, zone: str | None) -> int | None:
    offset = "+00:00" if zone in (None, "Z", "UTC") else zone
    try:
        return int(datetime.fromisoformat(f"{moment.replace('/', '-')}{offset}").timestamp())
    except (ValueError, OverflowError):
        return None


def clock_s(text: str) -> int | None:
    """Seconds since midnight of `HH:MM:SS`, None if there is no such time of day."""
    hour, minute, second = int(text[:2]), int(text[3:5]), int(text[6:8])
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second < 61 else None


@dataclass(slots=True)
class Years:
    """Dates without a year, in the order of a file.

    The first one is nearest `near` (Unix ns), or, where that is unknown, the latest that is not in the
    future; each later one is nearest the one before it, so a file may run over New Year.
    """

    near: int | None
    now: Callable[[], int]
    _date: tuple[int, int] | None = field(default=None, init=False)
    _midnight_s: int = field(default=0, init=False)

    def unix_nano(self, month: int, day: int, clock: str, fraction: str | None = None) -> int | None:
        """None where there is no such day or time of day."""
        seconds = clock_s(clock)
        if seconds is None or ((month, day) != self._date and not self._turn(month, day, seconds)):
            return None
        return (self._midnight_s + seconds) * SECOND + fraction_nano(fraction)

    def saw(self, unix_nano: int) -> None:
        """A full stamp stood beside: what follows is near it."""
        if self._date is None:
            self.near = unix_nano

    def _turn(self, month: int, day: int, seconds: int) -> bool:
        known = self._midnight_s if self._date else None if self.near is None else self.near // SECOND
        now_s = self.now() // SECOND
        year = datetime.fromtimestamp(now_s if known is None else known, UTC).year
        days = list(_midnights(month, day, year))
        if known is None:
            days = [midnight for midnight in days if midnight + seconds <= now_s + ZONE_SLACK_S]
            known = now_s
        if not days:
            return False
        anchor = known
        self._midnight_s = min(days, key=lambda midnight: abs(midnight + seconds - anchor))
        self._date = (month, day)
        return True


def _midnights(month: int, day: int, year: int) -> Iterator[int]:
    for candidate in range(year - 8, year + 9):  # leap days are at most eight years apart
        try:
            yield int(datetime(candidate, month, day, tzinfo=UTC).timestamp())
        except ValueError:
            continue
