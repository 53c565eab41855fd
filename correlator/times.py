"""Times and windows as a person writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from correlator.model.errors import InputError

if TYPE_CHECKING:
    from correlator.model.evidence import Window


def nanoseconds(text: str, flag: str) -> int:
    """Unix nanoseconds from RFC 3339 (no zone means UTC) or Unix seconds; raises InputError naming the flag."""
    try:
        return int(float(text) * 1_000_000) * 1_000
    except (ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{flag} {text}: expected a time such as 2026-11-30T03:35:00Z or 1796009700") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000


def window(text: str, flag: str) -> Window:
    """A window from `START/END`."""
    from correlator.model.evidence import Window  # brings pandas along

    start, slash, end = text.partition("/")
    if not slash:
        raise InputError(f"{flag} {text}: expected START/END")
    found = Window(nanoseconds(start, flag), nanoseconds(end, flag))
    if found.start >= found.end:
        raise InputError(f"{flag} {text}: the end must be after the start")
    return found
