"""Batches that the far side refuses, as the OpenTelemetry Collector's log tells of them: the service is well, and what
is missing since must not be taken for a change of it.

From the reports: C158's limit of 16777216 bytes, and its requests of 500, 159 and 143 spans that were all refused;
C161's two sizes and its 46128 dropped items. Ours: one line every ten seconds, the Collector's version, that C161's
items are spans too, and how many traces are missing meanwhile, two thirds.
"""

from __future__ import annotations

import itertools
import json

from correlator.model.moments import rfc3339
from tests.cases.inputs import CHANGE, END, call, calls
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span, at

TOO_LARGE = "rpc error: code = ResourceExhausted desc = grpc: received message larger than max"


def refused(error: str, dropped: tuple[int, ...]) -> Files:
    """Refusals with so many dropped spans in turn, and the calls of which traces still arrive."""
    told = {"otelcol.component.id": "otlp", "otelcol.signal": "traces", "error": error}
    lines = [_zap(t, "info", "service@v0.113.0/service.go:230", "Everything is ready.", {}) for t in (-60.0, END)]
    lines[1:1] = [
        _zap(t, "error", "internal/queue_sender.go:92", "Exporting failed. Dropping data.", told | {"dropped_items": n})
        for t, n in zip(range(int(CHANGE), int(END), 10), itertools.cycle(dropped), strict=False)
    ]

    def arrives(i: int, t: float) -> list[Span]:
        return call(i, t) if t < CHANGE or i % 3 == 0 else []

    return {"collector.log": "".join(lines), "calls.binpb": calls(arrives)}


def _zap(seconds: float, level: str, caller: str, text: str, fields: dict[str, object]) -> str:
    return f"{rfc3339(at(seconds))}\t{level}\t{caller}\t{text}\t{json.dumps(fields)}\n"


REFUSALS = (
    ("C158", 3, f"{TOO_LARGE} 16777216", (500, 159, 143)),
    ("C161", 2, f"Permanent error: {TOO_LARGE} (12727951 vs. 4194304)", (46128,)),
)

CASES = tuple(
    Report(
        id=id,
        agree=agree,
        cause="telemetry_artifact",
        decisive=True,
        suspects=("traffic_surge", "recent_change", "replica_imbalance"),
        files=lambda error=error, dropped=dropped: refused(error, dropped),
    )
    for id, agree, error, dropped in REFUSALS
)
