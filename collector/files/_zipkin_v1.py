"""Spans of Zipkin's version 1 as those of version 2. Version 1 tells by annotations what happened at which side (`cs`
and `cr` at the client, `sr` and `ss` at the server), so one span may hold both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SIDES = (("CLIENT", "cs", "cr", "sa"), ("SERVER", "sr", "ss", "ca"))
_CORE = frozenset({"cs", "cr", "sr", "ss"})
_ADDRESSES = frozenset({"sa", "ca"})
_Spans = Iterator[dict[str, Any]]


def is_v1(written: Any) -> bool:
    """Has a span what only version 1 has: binary annotations, or annotations with an endpoint of their own?"""
    if not isinstance(written, dict) or "localEndpoint" in written:
        return False
    notes = written.get("annotations")
    told = isinstance(notes, list) and any(isinstance(note, dict) and "endpoint" in note for note in notes)
    return "binaryAnnotations" in written or told


def sides(written: Mapping[str, Any]) -> _Spans:
    """The span once for each side that tells of itself, else as one of neither. Raises KeyError, TypeError or
    ValueError where it is none."""
    times = {note["value"]: note for note in written.get("annotations") or () if note["value"] in _CORE}
    found = [side for side in _SIDES if side[1] in times or side[2] in times]
    for side in found or [("", "", "", "")]:
        yield _side(written, side, times, len(found))


def _side(
    written: Mapping[str, Any], side: tuple[str, str, str, str], times: Mapping[str, Any], of: int
) -> dict[str, Any]:
    kind, began, ended, address = side
    endpoint = _endpoint(written, [times[key] for key in (began, ended) if key in times])
    start, duration = _extent(written, times.get(began), times.get(ended), of)
    binary = [one for one in written.get("binaryAnnotations") or () if isinstance(one, dict)]
    remote = next((one.get("endpoint") for one in binary if one.get("key") == address), None)
    own = [one for one in binary if one.get("key") not in _ADDRESSES and (of < 2 or _is_of(one, endpoint))]
    notes = [one for one in written.get("annotations") or () if one["value"] not in _CORE]
    span = {
        "traceId": written["traceId"], "id": written["id"], "parentId": written.get("parentId"),
        "name": written.get("name"), "kind": kind, "timestamp": start, "localEndpoint": endpoint,
        "remoteEndpoint": remote, "tags": {str(one["key"]): one.get("value") for one in own if one["key"] != "lc"},
        "annotations": [note for note in notes if of < 2 or _is_of(note, endpoint)],
        # whose beginning was told by another belongs to a span that the client has too
        "shared": kind == "SERVER" and (of == 2 or "timestamp" not in written),
    }  # fmt: skip
    return span | ({} if duration is None else {"duration": duration})


def _extent(written: Mapping[str, Any], began: Any, ended: Any, of: int) -> tuple[int, int | None]:
    """(start, duration) in µs: the span's own where it is of one side, else between the side's annotations."""
    if of < 2 and "timestamp" in written:
        own = written.get("duration")
        start = int(written["timestamp"])
        return start, int(own) if own is not None else int(ended["timestamp"]) - start if ended else None
    first = began or ended
    if first is None:
        raise ValueError("expected a timestamp, or annotations cs, cr, sr or ss")
    return int(first["timestamp"]), int(ended["timestamp"]) - int(first["timestamp"]) if began and ended else None


def _endpoint(written: Mapping[str, Any], core: list[Any]) -> Any:
    """Who tells: at the side's annotations, else at any."""
    others = [*(written.get("annotations") or ()), *(written.get("binaryAnnotations") or ())]
    told = (one.get("endpoint") for one in (*core, *others) if one.get("key") not in _ADDRESSES)
    return next((one for one in told if isinstance(one, dict)), None)


def _is_of(one: Mapping[str, Any], endpoint: Any) -> bool:
    where = one.get("endpoint")
    return not isinstance(where, dict) or where.get("serviceName") == (endpoint or {}).get("serviceName")
