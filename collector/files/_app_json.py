"""JSON lines as the usual logging libraries write them: their keys for time, level, message and trace."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from collector.attributes import Value
from collector.files._app_record import Record, id_of, level_of, traceparent_of
from collector.files._app_text import epoch_nano, stamp_of, text_level
from collector.files._exceptions import exception_of
from collector.files._stamps import Years
from collector.files._times import SECOND

# keys by what they mean, spelled without case and punctuation; the first that holds something is used
_KEYS: dict[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "ts", "@timestamp", "datetime", "date", "asctime", "eventtime", "@t", "t"),
    "level": ("level", "severity", "lvl", "levelname", "loglevel", "severitytext", "@l", "status"),
    "message": ("msg", "message", "event", "body", "log", "text", "@m", "@mt", "shortmessage"),
    "service": ("service", "servicename", "app", "application", "appname", "logger", "loggername", "name"),
    "trace": ("traceid", "oteltraceid", "logginggoogleapiscom/trace", "trace"),
    "trace_decimal": ("ddtraceid",),
    "span": ("spanid", "otelspanid", "logginggoogleapiscom/spanid", "span"),
    "span_decimal": ("ddspanid",),
    "traceparent": ("traceparent",),
    "stack": ("exception", "excinfo", "stacktrace", "stack", "errorstack", "errorstacktrace", "exctext"),
}
MAX_ATTRIBUTES = 64
_DEPTH = 4
T = TypeVar("T")
_EPOCH = re.compile(r"(\d{10}(?:\d{3}){0,3})(?:\.(\d{1,9})\d*)?")
_LIMITS = ((1e11, SECOND), (1e14, 1_000_000), (1e17, 1_000), (math.inf, 1))  # s, ms, µs, ns


def json_object(text: str) -> dict[str, Any] | None:
    """The object in a line, None if the line is no JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def looks_like_log(value: Mapping[str, Any]) -> bool:
    """Has an object what a log line has: a time, and a message or a level?"""
    roles = _roles(tuple(value))
    return "time" in roles and ("message" in roles or "level" in roles)


def json_record(number: int, value: Mapping[str, Any], years: Years) -> Record:
    """The record of one object; its time is None if it has none."""
    flat = dict(_flat(value))
    roles = _roles(tuple(flat))

    def take(role: str, read: Callable[[Value], T | None]) -> T | None:
        """What the first of a role's keys holds that reads as something; it is then no attribute."""
        for key in roles.get(role, ()):
            found = read(flat[key])
            if found is not None:
                del flat[key]
                return found
        return None

    unix_nano = take("time", lambda value: time_of(value, years))
    level = take("level", lambda value: level_of(value) or None)
    body = take("message", lambda value: str(value) or None) or json.dumps(value, ensure_ascii=False)
    service = next((str(flat[key]) for key in roles.get("service", ()) if flat.get(key)), "")
    record = Record(number, unix_nano, level or text_level(body), body.rstrip("\n").split("\n"), service)
    record.trace_id = _id(take, "trace", 16)
    record.span_id = _id(take, "span", 8)
    if not record.trace_id and "traceparent" in roles:
        record.trace_id, record.span_id = traceparent_of(flat.get(roles["traceparent"][0]))
    stack = take("stack", lambda value: str(value) or None)
    record.attributes = dict(islice(flat.items(), MAX_ATTRIBUTES)) | (_stack(stack) if stack else {})
    return record


def _id(take: Callable[[str, Callable[[Value], bytes | None]], bytes | None], kind: str, size: int) -> bytes:
    return (
        take(kind, lambda value: id_of(value, size) or None)
        or take(f"{kind}_decimal", lambda value: id_of(value, size, decimal=True) or None)
        or b""
    )


@lru_cache(maxsize=256)
def _roles(keys: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Which of an object's keys mean what; the lines of a log have few different sets of keys."""
    plain: dict[str, str] = {}
    for key in keys:
        plain.setdefault(key.lower().replace("_", "").replace("-", "").replace(".", ""), key)
    roles = {role: tuple(plain[name] for name in names if name in plain) for role, names in _KEYS.items()}
    return {role: found for role, found in roles.items() if found}


def time_of(value: Value, years: Years) -> int | None:
    """Unix nanoseconds of a number (its size tells s, ms, µs or ns) or of text in a usual form."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        if not math.isfinite(value):
            return None
        unit = next(unit for limit, unit in _LIMITS if abs(value) < limit)
        whole = int(value)
        return whole * unit + int((value - whole) * unit)
    if isinstance(value, str):
        text = value.strip()
        if match := _EPOCH.fullmatch(text):
            return epoch_nano(match[1], match[2])
        stamp = stamp_of(text, years)
        return stamp.unix_nano if stamp else None
    return None


def _stack(stack: str) -> dict[str, Value]:
    exception = exception_of(stack.strip("\n").split("\n"))
    found: dict[str, Value] = {"exception.stacktrace": stack}
    if exception:
        found |= {"exception.type": exception[0], "exception.message": exception[1]}
    return found


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Value]]:
    for key, inner in value.items():
        if isinstance(inner, dict) and depth:
            yield from _flat(inner, f"{prefix}{key}.", depth - 1)
        elif isinstance(inner, str | bool | int | float):
            yield f"{prefix}{key}", inner
        elif inner is not None:
            yield f"{prefix}{key}", json.dumps(inner, ensure_ascii=False)
