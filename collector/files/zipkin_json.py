"""Zipkin's JSON, version 2 or 1: an array of spans, or one span a line. Times are microseconds and stay as recorded,
clock skew included. A span that client and server share becomes two, the server's below the client's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.attributes import Value, clean, set_attributes
from collector.files._contract import Options, Reader, Source
from collector.files._documents import each
from collector.files._spans import KINDS, Spans, fail
from collector.files._zipkin_v1 import is_v1, sides
from correlator.model.records import Batch, Problem

_MICRO = 1_000
_OWN = (
    re.compile(rb'"traceId"\s*:\s*"[0-9a-fA-F]{16,32}"'),
    re.compile(rb'"(?:localEndpoint|remoteEndpoint|binaryAnnotations)"\s*:|"endpoint"\s*:\s*\{[^{}]*"serviceName"'),
)
_FAULTS = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
_ENDPOINT = {"serviceName": "peer.service", "ipv4": "network.peer.address", "ipv6": "network.peer.address"}
_FAILED = 500

_Shared = dict[tuple[str, str, str], bytes]
"""The id of the server's half by trace, shared id and service."""


def accepts(source: Source) -> float:
    """By a hex `traceId` beside an endpoint or version 1's binary annotations, in JSON."""
    if source.head.lstrip()[:1] not in (b"{", b"["):
        return 0.0
    return 1.0 if all(pattern.search(source.head) for pattern in _OWN) else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Every span; one that cannot be read is named by its place and left out."""
    spans, unfinished, first = Spans(source.name, "tollens.zipkin_json"), 0, 0

    def take(line: int, value: Any) -> Iterator[Batch | Problem]:
        nonlocal unfinished, first
        written: list[tuple[int, Any]] = []
        for index, one in enumerate(_flat(value)):
            try:
                written.extend((index, side) for side in (sides(one) if is_v1(one) else (one,)))
            except _FAULTS as error:
                yield Problem(source.name, f"expected a Zipkin span ({error!r:.120})", line=line, field=f"[{index}]")
        shared = _shared([one for _, one in written])
        for index, one in written:
            try:
                spans.add(_resource(one), _span(one, shared), line)
                if "timestamp" in one and "duration" not in one:
                    unfinished, first = unfinished + 1, first or line
            except _FAULTS as error:
                yield Problem(source.name, f"expected a Zipkin span ({error!r:.120})", line=line, field=f"[{index}]")
            if spans.full:
                yield from spans.batches()

    yield from each(source, take)
    yield from spans.batches()
    yield from spans.problems()
    if unfinished:
        reason = "span has no duration and counts as a moment"
        yield Problem(source.name, reason, line=first, field="duration", count=unfinished)


def _flat(value: Any) -> Iterator[Any]:
    """The spans of a document: of one trace, or (as `/api/v2/traces` answers) of several."""
    if isinstance(value, list):
        for inner in value:
            yield from _flat(inner)
    else:
        yield value


def _shared(written: list[Any]) -> _Shared:
    halves = (one for one in written if isinstance(one, dict) and one.get("shared") is True)
    keys = ((str(one.get("traceId")), str(one.get("id")), _service(one)) for one in halves)
    return {key: blake2b(" ".join(key).encode("utf-8", "replace"), digest_size=8).digest() for key in keys}


def _service(written: Mapping[str, Any]) -> str:
    endpoint = written.get("localEndpoint")
    return str(endpoint.get("serviceName") or "unknown") if isinstance(endpoint, dict) else "unknown"


def _resource(written: Mapping[str, Any]) -> dict[str, Value]:
    endpoint = written.get("localEndpoint") or {}
    address = endpoint.get("ipv4") or endpoint.get("ipv6")
    return {"service.name": _service(written), **({"host.ip": str(address)} if address else {})}


def _span(written: Mapping[str, Any], shared: _Shared) -> Span:
    trace, own = str(written["traceId"]), str(written["id"])
    service = _service(written)
    half = shared.get((trace, own, service)) if written.get("shared") is True else None
    parent = str(written.get("parentId") or "")
    start = int(written.get("timestamp") or 0) * _MICRO
    span = Span(
        trace_id=_id(trace, 16),
        span_id=half or _id(own, 8),
        parent_span_id=_id(own, 8) if half else shared.get((trace, parent, service)) or _id(parent, 8),
        name=clean(str(written.get("name") or "unknown")),
        kind=KINDS.get(str(written.get("kind", "")).lower(), Span.SPAN_KIND_INTERNAL),
        start_time_unix_nano=start,
        end_time_unix_nano=start + int(written.get("duration") or 0) * _MICRO,
    )
    for note in written.get("annotations") or ():
        span.events.add(time_unix_nano=int(note["timestamp"]) * _MICRO, name=clean(str(note["value"])[:200]))
    tags: dict[str, Value] = {str(key): str(value) for key, value in (written.get("tags") or {}).items()}
    _status(span, tags)
    set_attributes(span, _peer(written.get("remoteEndpoint") or {}) | tags)
    return span


def _status(span: Span, tags: Mapping[str, Value]) -> None:
    """`error` holds the reason, or is merely there; a response of 500 and above failed too."""
    status = str(tags.get("http.status_code", ""))
    if "error" in tags and str(tags["error"]).lower() != "false":
        fail(span, clean(str(tags["error"])))
    elif status.isdecimal() and int(status) >= _FAILED:
        fail(span, f"HTTP {status}")


def _peer(endpoint: Mapping[str, Any]) -> dict[str, Value]:
    return {_ENDPOINT[key]: str(value) for key, value in endpoint.items() if key in _ENDPOINT}


def _id(text: str, size: int) -> bytes:
    return bytes.fromhex(text.rjust(2 * size, "0")) if text else b""


READER = Reader(id="zipkin_json", accepts=accepts, read=read)
