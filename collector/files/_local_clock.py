"""Times by a clock whose zone nobody names: which whole number of hours (or quarters) puts them beside the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from collector.files._times import SECOND

QUARTER_S = 900
FARTHEST_S = 14 * 3600
"""No zone is farther from UTC."""
NEAR_S = 300
"""Recordings of one run begin within minutes of each other; shifts that differ by less are equally good."""
_FORMATS = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%a %b %d %H:%M:%S %Y", "%Y%m%d %H:%M:%S", "%Y%m%d-%H%M%S")


FIRST_YEAR, LAST_YEAR = 1971, 2261
"""Of others OTLP's nanoseconds, or those of the tables, know nothing, whatever the zone."""


def naive_unix_nano(text: str) -> int | None:
    """The time as if the clock ran on UTC; None where it is written in no known way, or cannot be."""
    text = " ".join(text.split())
    for form in _FORMATS:
        try:
            moment = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        whole = int(moment.replace(microsecond=0).timestamp())
        return whole * SECOND + moment.microsecond * 1000 if FIRST_YEAR <= moment.year <= LAST_YEAR else None
    return None


@dataclass(frozen=True, slots=True)
class Shift:
    """Nanoseconds to add, and what to tell the user about them ("" if nothing)."""

    nano: int
    said: str


def shift_to(times: Iterable[int], near: int | None) -> Shift:
    """The zone's offset that brings these times beside `near`, the median time of the other files."""
    first = last = None
    for time in times:
        first = time if first is None else min(first, time)
        last = time if last is None else max(last, time)
    if first is None or last is None:
        return Shift(0, "")
    if near is None:
        return Shift(0, "times have no zone and no other file tells it: they are read as UTC")
    quarters = range(-FARTHEST_S // QUARTER_S, FARTHEST_S // QUARTER_S + 1)
    best = min((q * QUARTER_S for q in quarters), key=lambda s: _strangeness(s, first, last, near))
    if _distance_s(best, first, last, near) > QUARTER_S:
        return Shift(0, "times have no zone and lie far from those of the other files: they are read as UTC")
    hours = [s // 3600 for s in range(-FARTHEST_S, FARTHEST_S + 1, 3600) if _fits(s, first, last, near)]
    if len(hours) > 1:
        return Shift(best * SECOND, _several(hours, best))
    said = f"times have no zone; {best / 3600:+g} h puts them beside the other files" if best else ""
    return Shift(best * SECOND, said)


def _several(hours: list[int], best: int) -> str:
    read = f"at {best / 3600:+g} h" if best else "as UTC"
    return (
        f"times have no zone and {len(hours)} whole hours ({hours[0]:+} to {hours[-1]:+} h) would put them beside the "
        f"other files: they are read {read}"
    )


def _fits(shift_s: int, first: int, last: int, near: int) -> bool:
    return _distance_s(shift_s, first, last, near) < NEAR_S


def _strangeness(shift_s: int, first: int, last: int, near: int) -> tuple[int, int, int]:
    """Shifts are preferred that bring the times near, then whole hours, then half ones, then small ones."""
    fraction = 0 if shift_s % 3600 == 0 else 1 if shift_s % 1800 == 0 else 2
    return int(_distance_s(shift_s, first, last, near)) // NEAR_S, fraction, abs(shift_s)


def _distance_s(shift_s: int, first: int, last: int, near: int) -> float:
    shift = shift_s * SECOND
    return max(0, first + shift - near, near - last - shift) / SECOND
