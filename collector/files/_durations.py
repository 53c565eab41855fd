"""Durations as Go and Rust print them: numbers with their unit, also several in a row (`1m23.4s`, `812.4µs`)."""

import re

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(ns|us|µs|μs|ms|s|m|h)")
WRITTEN = r"(?:\d[\d.]*(?:ns|us|µs|μs|ms|s|m|h))+"


def duration_ns(text: str) -> int | None:
    """Nanoseconds of a duration, None if it is none."""
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        return None
    return round(sum(float(number) * _UNITS_NS[unit] for number, unit in parts))
