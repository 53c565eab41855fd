"""Times as text."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(4096)  # consoles ask for the same incidents again and again
def rfc3339(unix_nano: int) -> str:
    """`2026-11-30T03:35:16.5Z`: UTC; all nine digits are kept, trailing zeros are not."""
    seconds, fraction = divmod(unix_nano, 1_000_000_000)
    digits = f".{fraction:09d}".rstrip("0").rstrip(".")
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{digits}Z"
