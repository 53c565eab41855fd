"""Batches that the far side refuses, as the OpenTelemetry Collector's log tells of them: the service is well, and what
is missing since must not be taken for a change of it."""

from __future__ import annotations

import json

from correlator.model.moments import rfc3339
from tests.cases.inputs import CHANGE, END, call, calls
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span, at


def refused(signal: str, error: str, dropped: int, kept: bool = False) -> Files:
    """One line a ten seconds with the report's own figures; of the traces sent meanwhile two thirds are missing."""
    fields = {"otelcol.component.id": "otlp", "otelcol.signal": signal, "error": error, "dropped_items": dropped}
    lines = [_zap(t, "info", "service@v0.113.0/service.go:230", "Everything is ready.", {}) for t in (-60.0, END)]
    lines[1:1] = [
        _zap(t, "error", "internal/queue_sender.go:92", "Exporting failed. Dropping data.", fields)
        for t in range(int(CHANGE), int(END), 10)
    ]

    def arrives(i: int, t: float) -> list[Span]:
        return call(i, t) if t < CHANGE or kept or i % 3 == 0 else []

    return {"collector.log": "".join(lines), "calls.binpb": calls(arrives)}


def _zap(seconds: float, level: str, caller: str, text: str, fields: dict[str, object]) -> str:
    return f"{rfc3339(at(seconds))}\t{level}\t{caller}\t{text}\t{json.dumps(fields)}\n"


REFUSALS = (
    ("C158", 3, "traces", "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
     "(52428800 vs. 16777216)", 500),
    ("C161", 2, "traces", "Permanent error: rpc error: code = ResourceExhausted desc = grpc: received message larger "
     "than max (12727951 vs. 4194304)", 46128),
    ("C163", 3, "metrics", "Permanent error: timestamp 2095-11-12T00:00:00Z is more than 2h in the future", 200),
    ("C166", 2, "metrics", "Permanent error: StartTimestamp 0 for a cumulative sum: system.memory.usage", 120),
    ("C167", 3, "logs", "rpc error: code = Internal desc = grpc: error while marshaling: string field contains invalid "
     "UTF-8", 100),
    ("C169", 2, "logs", "Permanent error: HTTP 400: unmarshal: invalid TraceID length", 60),
    ("C170", 3, "traces", "Permanent error: HTTP 400: length mismatch: traceId 7+8py1sP", 80),
)  # fmt: skip

CASES = tuple(
    Report(
        id=id,
        agree=agree,
        cause="telemetry_artifact",
        suspects=("traffic_surge", "recent_change", "replica_imbalance"),
        files=lambda signal=signal, error=error, dropped=dropped: refused(signal, error, dropped, signal != "traces"),
    )
    for id, agree, signal, error, dropped in REFUSALS
)
