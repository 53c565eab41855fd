"""Times of the API: RFC 3339 outside, Unix nanoseconds inside."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

LATEST_NS = 7_258_118_400_000_000_000
"""The year 2200; the store's times end in 2262."""
_FORM = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:)(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")


def parsed(value: object) -> int:
    """Unix nanoseconds of an RFC 3339 time; ValueError otherwise."""
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected a time such as 2026-11-30T03:35:00Z")
    minute, second, fraction, zone = match.groups()
    leap = second == "60"
    moment = datetime.fromisoformat(f"{minute}{'59' if leap else second}{zone.upper()}")
    seconds = (moment - _EPOCH) // timedelta(seconds=1) + leap
    found = seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0")[:9])
    if not 0 <= found < LATEST_NS:
        raise ValueError("expected a time between 1970 and 2200")
    return found


Time = Annotated[
    int,
    BeforeValidator(parsed),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-30T03:35:00Z"]}),
]
"""A time in a request: text in JSON, nanoseconds in Python."""
