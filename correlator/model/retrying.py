"""When to try again: what an answer means, the pauses between attempts, and what a server asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
JITTER = 0.1
LONGEST_RETRY_AFTER_S = 300.0


class Later(Exception):
    """A request was not taken; the same may succeed later, not before `after_s` seconds."""

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Never(Exception):
    """A request was refused for good."""


def pauses(chance: Callable[[], float]) -> Iterator[float]:
    """Seconds, doubling, each up to a tenth longer or shorter by chance (0 to 1)."""
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s * (1 + JITTER * (2 * chance() - 1))
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def retry_after_s(headers: Mapping[str, str]) -> float:
    """The header Retry-After, a number of seconds or a date; 0 without one that can be read."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(float(text), LONGEST_RETRY_AFTER_S)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER_S)
