"""A request as a proxy's access log tells it, and the span it becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.attributes import Value
from collector.files._spans import fail, lone_span
from collector.files._times import SECOND

SERVER_ERROR = 500
_IDENTITY = re.compile(r"/(?:\d+|[0-9a-fA-F]{8}[0-9a-fA-F-]{8,}|[\w-]{40,})(?=/|$)")
_NAME_LIMIT = 120
_GRPC = {
    "ok": 0, "canceled": 1, "cancelled": 1, "unknown": 2, "invalidargument": 3, "deadlineexceeded": 4, "notfound": 5,
    "alreadyexists": 6, "permissiondenied": 7, "resourceexhausted": 8, "failedprecondition": 9, "aborted": 10,
    "outofrange": 11, "unimplemented": 12, "internal": 13, "unavailable": 14, "dataloss": 15, "unauthenticated": 16,
}  # fmt: skip
_GRPC_FAILED = frozenset({2, 4, 12, 13, 14, 15})
"""Codes that OpenTelemetry's conventions for gRPC count as errors of a server."""


@dataclass(slots=True)
class Request:
    """Times are Unix ns and seconds; `grpc` is the status code of a gRPC call."""

    proxy: str
    start: int
    seconds: float
    method: str
    path: str
    status: int | None
    grpc: int | None = None
    attributes: dict[str, Value] = field(default_factory=dict)
    trace_id: bytes = b""


def grpc_code(written: object) -> int | None:
    """The number of a gRPC status, given as number or name in any spelling; None if it is none."""
    text = str(written).strip().lower().replace("_", "").replace(" ", "")
    if text.isdecimal():
        return int(text) if int(text) <= max(_GRPC.values()) else None
    return _GRPC.get(text)


def span_of(request: Request, line: int, text: str) -> Span:
    """The request as the server span of the proxy."""
    path = request.path.partition("?")[0]
    attributes: dict[str, Value] = {"http.request.method": request.method, "url.path": path}
    if request.status is not None:
        attributes["http.response.status_code"] = request.status
    if request.grpc is not None:
        service, _, method = path.strip("/").rpartition("/")
        attributes |= {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
        attributes["rpc.grpc.status_code"] = request.grpc
    end = request.start + round(request.seconds * SECOND)
    name = f"{request.method} {_IDENTITY.sub('/*', path)}"[:_NAME_LIMIT]
    span = lone_span(f"{request.proxy} {line} {text}", name, request.start, end, attributes | request.attributes)
    span.trace_id = request.trace_id or span.trace_id
    if request.grpc in _GRPC_FAILED:
        fail(span, f"gRPC status {request.grpc}")
    elif (request.status or 0) >= SERVER_ERROR:
        fail(span, f"HTTP {request.status}")
    return span
