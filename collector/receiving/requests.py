"""Is it an OTLP request, and which of its records should no table hold?

Sound requests go on as the bytes they came in: proving that takes passes in C over whole columns. Only a
request with an unsound record is screened one by one and written anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import gt
from typing import Any

from google.protobuf.message import DecodeError

from collector.files._json import Losses, Unfit, message
from collector.files._log_events import named
from collector.files._otlp import SHAPES, Screen
from collector.files._times import EARLIEST, LATEST
from collector.receiving.columns import columns
from correlator.model.records import Signal

MAX_SCREENED = 100_000
"""Records of a request that is screened one by one."""
MAX_UNFIT = 1_000
"""Records of a JSON document that are left out one by one; with more of them it is malformed."""
MAX_JSON_VALUES = 500_000
"""Objects and arrays of a JSON document; each takes hundreds of bytes."""

_SAID = 5
_KEYS = {Signal.TRACES: "resourceSpans", Signal.METRICS: "resourceMetrics", Signal.LOGS: "resourceLogs"}
_ZERO_TRACE, _ZERO_SPAN = bytes(16), bytes(8)


class Malformed(ValueError):
    """Not an OTLP request of its signal; says where and what was expected."""


class TooMany(ValueError):
    """A request with more in it than we are willing to make objects of."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What may be kept of one request: its bytes, the number of records in them, and what was left out."""

    payload: bytes
    records: int
    rejected: int = 0
    message: str = ""


def checked_protobuf(signal: Signal, payload: bytes) -> Checked:
    """A serialized request. Raises Malformed or TooMany."""
    try:
        found = columns(signal, payload)
    except DecodeError:
        raise Malformed(f"the bytes are not a protobuf message of {signal}") from None
    records = sum(count for count, _ in found)
    if all(_SOUND[signal](count, fields) for count, fields in found):
        return Checked(_named(signal, payload, records), records)
    if records > MAX_SCREENED:
        raise TooMany(f"{records} records and not all of them sound, expected at most {MAX_SCREENED}")
    return _screened(signal, payload, records)


def checked_json(signal: Signal, text: bytes) -> Checked:
    """A request in OTLP JSON, as protobuf; records that cannot be read are left out. Raises Malformed or TooMany."""
    shape, losses = SHAPES[signal], Losses(most=MAX_UNFIT)
    try:
        request = shape.request(**message(shape.request.DESCRIPTOR)(_document(signal, text), losses))
    except Unfit as unfit:
        raise Malformed(_place(unfit.path, str(unfit))) from None
    checked = checked_protobuf(signal, request.SerializeToString())
    if not losses.unfit:
        return checked
    said = [_place(unfit.path, str(unfit)) for unfit in losses.unfit]
    return replace(checked, rejected=checked.rejected + len(said), message=_said([*said, checked.message]))


def _document(signal: Signal, text: bytes) -> Any:
    if text.count(b"{") + text.count(b"[") > MAX_JSON_VALUES:
        raise TooMany(f"more than {MAX_JSON_VALUES} objects and arrays")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"not valid JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise Malformed("not valid JSON: bad encoding, too deeply nested or a number out of range") from None
    for other, key in _KEYS.items():
        if other is not signal and type(value) is dict and key in value:
            raise Malformed(f"{key} belongs to /v1/{other}")
    return value


def _sound_spans(count: int, spans: Any) -> bool:
    starts, ends = list(spans.start_time_unix_nano), list(spans.end_time_unix_nano)
    return (
        _believable(count, starts, ends)
        and not any(map(gt, starts, ends))
        and _sound_ids(count, list(spans.trace_id), _ZERO_TRACE)
        and _sound_ids(count, list(spans.span_id), _ZERO_SPAN)
    )


def _sound_ids(count: int, ids: list[bytes], zero: bytes) -> bool:
    return count == len(ids) == list(map(len, ids)).count(len(zero)) and zero not in ids


def _sound_points(count: int, points: Any) -> bool:
    return _believable(count, points.time_unix_nano, points.time_unix_nano)


def _sound_logs(count: int, logs: Any) -> bool:
    """All have a time, or all have the time when they were observed and some another."""
    times, observed = logs.time_unix_nano, logs.observed_time_unix_nano
    if count == len(times):
        return _believable(count, times, times)
    return _believable(count, observed, observed) and _believable(len(times), times, times)


def _believable(count: int, earlier: Sequence[int], later: Sequence[int]) -> bool:
    """Whether each of `count` records has both times, none before the first or after the last year believed in."""
    if not count == len(earlier) == len(later):
        return False
    return not count or (min(earlier) >= EARLIEST and max(later) < LATEST)


def _screened(signal: Signal, payload: bytes, records: int) -> Checked:
    request, screen = SHAPES[signal].request.FromString(payload), Screen(signal)
    screen.clean(signal, request)
    problems = list(screen.problems())
    rejected = sum(problem.count for problem in problems)
    said = [_place(problem.field, f"{problem.reason} (×{problem.count})") for problem in problems]
    kept = _named(signal, request.SerializeToString(), records)
    return Checked(kept, records - rejected, rejected, _said(said))


def _named(signal: Signal, payload: bytes, records: int) -> bytes:
    """Log records that tell of a known happening get the name of it, as those of files do."""
    return named(payload) if signal is Signal.LOGS and records <= MAX_SCREENED else payload


def _place(field: str | None, reason: str) -> str:
    return f"{field}: {reason}" if field else reason


def _said(reasons: Sequence[str]) -> str:
    """The first few reasons; a request may have one for each of its records."""
    told = [reason for reason in reasons if reason]
    return "; ".join(told[:_SAID]) + (f"; and {len(told) - _SAID} more" if len(told) > _SAID else "")


_SOUND = {Signal.TRACES: _sound_spans, Signal.METRICS: _sound_points, Signal.LOGS: _sound_logs}
