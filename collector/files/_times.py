"""Is a Unix time believable? A wrong unit is recognised and said, never repaired."""

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import PurePath

SECOND = 1_000_000_000
EARLIEST, LATEST = 946_684_800 * SECOND, 4_102_444_800 * SECOND  # the years 2000 to 2099
_UNITS = ((1_000, "microseconds"), (1_000_000, "milliseconds"), (SECOND, "seconds"))
_UNIT_OF_DIGITS = {10: SECOND, 13: 1_000_000, 16: 1_000, 19: 1}
_UNIX = re.compile(r"(?<!\d)(\d{19}|\d{16}|\d{13}|\d{10})(?!\d)")
_ISO = re.compile(
    r"(?<!\d)(20\d\d)-?(\d\d)-?(\d\d)[Tt_ -]?(\d\d)[:_-]?(\d\d)[:_-]?(\d\d)"
    r"(?:[.,](\d{1,9}))?(?!\d)(Z|[+-]\d\d:?\d\d(?!\d))?"
)


def plausible(unix_nano: int) -> str | None:
    """None for a time in the years 2000 to 2099, else why it is none (in words for a person)."""
    if EARLIEST <= unix_nano < LATEST:
        return None
    if unix_nano == 0:
        return "time is zero"
    for factor, unit in _UNITS:
        if EARLIEST <= unix_nano * factor < LATEST:
            return f"time looks like {unit}, expected nanoseconds"
    return "time is before the year 2000" if unix_nano < EARLIEST else "time is after the year 2099"


def time_in(text: str) -> int | None:
    """The first plausible Unix or ISO time written in `text` (UTC unless it says otherwise), in ns."""
    for match in _UNIX.finditer(text):
        unix_nano = int(match[1]) * _UNIT_OF_DIGITS[len(match[1])]
        if plausible(unix_nano) is None:
            return unix_nano
    return next((t for match in _ISO.finditer(text) if (t := _iso_unix_nano(match)) is not None), None)


def time_in_name(name: str) -> int | None:
    """The time in a file's own name (its folders do not count), in ns."""
    return time_in(PurePath(name).name)


def written_unix_nano(text: str, unit_nano: int) -> int:
    """A number of units as text, in ns, to the last digit. Raises ValueError where it is no time at all."""
    try:
        unix_nano = Decimal(text) * unit_nano
    except InvalidOperation:
        unix_nano = Decimal("NaN")
    if unix_nano.is_nan() or not 0 <= unix_nano < 1 << 63:
        raise ValueError(f"expected a timestamp, found {text[:40]!r}")
    return int(unix_nano)


def _iso_unix_nano(match: re.Match[str]) -> int | None:
    *digits, fraction, zone = match.groups()
    year, month, day, hour, minute, second = map(int, digits)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return (int(moment.timestamp()) - _offset_s(zone)) * SECOND + int((fraction or "0").ljust(9, "0"))


def _offset_s(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
