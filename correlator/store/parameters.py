"""Python values as the text of bound query parameters (`{name:Type}`).

ClickHouse reads a parameter as it reads a field of a tab-separated file, and strings within
arrays as quoted literals. User text reaches the engine in no other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": r"\0", "'": r"\'"})


def literal(value: object) -> str:
    """The text of `value`: a scalar, None, a UTC-aware or naive UTC datetime, or a list or map of these."""
    if value is None:
        return r"\N"
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    return _quoted(value) if _is_nested(value) else _plain(value)


def _is_nested(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        return utc.replace(tzinfo=None).isoformat(sep=" ")
    return str(value)


def _quoted(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_quoted(key)}:{_quoted(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "[" + ",".join(map(_quoted, value)) + "]"
    if isinstance(value, str | datetime):
        return f"'{literal(value)}'"
    return _plain(value)
