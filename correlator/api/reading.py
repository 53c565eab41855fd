"""What the API reads from the store itself: one trace, and which signals have data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

import pandas as pd

from correlator.join.build import build
from correlator.join.connect import CONNECT, Groups
from correlator.join.gpus import read_connections
from correlator.join.within import told_last
from correlator.model.evidence import Evidence, Window
from correlator.model.moments import rfc3339
from correlator.model.names import SIGNALS
from correlator.store import Store

SPANS = 2_000
"""Spans shown of a trace."""
VALUE = 4_096
"""Characters shown of an attribute: prompts can be books."""
BYTES = 8_000_000
"""Bytes of attributes shown of a trace."""
CONNECTIONS = 200
"""Connections told."""
RECENT_NS = 600_000_000_000
TRACES = 200
"""Traces looked at to know which signals they carry."""
T = TypeVar("T")


def trace(store: Store, trace_id: str) -> Mapping[str, object] | None:
    """The trace in the API's shape; None when no span has this id."""
    low, high = store.query(_EXTENT, trace=trace_id).astype(int).iloc[0][["low", "high"]]
    bounds = {"low": low, "high": high, "spans": SPANS, "value": VALUE, "bytes": BYTES}
    rows = store.query(_SPANS, trace=trace_id, **bounds).to_dict("records")
    if not rows:
        return None
    spans = [_span(row, int(rows[0]["start_ns"])) for row in rows]
    return {"trace_id": trace_id, "spans": spans, "truncated": len(rows) < int(rows[0]["all_spans"])}


def signals(store: Store, connect: Groups = CONNECT) -> Sequence[Mapping[str, object]]:
    """Canonical signals of the ten minutes before the latest telemetry, as a diagnosis would see them."""
    latest = told_last(store, _TABLES)
    if latest == 0:
        return []
    evidence = build(store, traces=TRACES, within=Window(latest - RECENT_NS, latest + 1), connect=connect).evidence
    return [_signal(evidence, name, about) for name, about in evidence.coverage.signals.items()]


class Held(Generic[T]):
    """The last answer of `read`, given at once to whoever asks while it is younger than `longest_s` seconds.

    `renew`, called now and then from a thread of its own, reads anew where somebody has asked since. StoreError passes.
    """

    def __init__(self, read: Callable[[], T], longest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._longest_s, self._clock = read, longest_s, clock
        self._reading = Lock()
        self._known: tuple[float, T] | None = None
        self._asked = False

    def __call__(self) -> T:
        """The answer; who comes first waits for it."""
        self._asked = True
        if (young := self._young()) is None:
            with self._reading:
                young = self._young() or self._anew()
        return young[1]

    def renew(self) -> None:
        """Read anew if anybody wants to know."""
        if self._asked:
            self._asked = False
            with self._reading:
                self._anew()

    def _young(self) -> tuple[float, T] | None:
        known = self._known
        return known if known is not None and self._clock() - known[0] < self._longest_s else None

    def _anew(self) -> tuple[float, T]:
        self._known = self._clock(), self._read()
        return self._known


def connections(store: Store, connect: Groups = CONNECT) -> Sequence[Mapping[str, object]]:
    """What serves and its GPUs, in the hour before the latest telemetry; what is not tied has the reason."""
    return [
        {"gpus": list(one.gpus), "serves": one.serves or None, "tied_by": one.tied_by or None, "reason": one.reason}
        for one in read_connections(store, connect)[:CONNECTIONS]
    ]


def _span(row: Mapping[str, Any], began: int) -> dict[str, object]:
    start = int(row["start_ns"])
    events = zip(row["event_times"], row["event_names"], row["event_attributes"], strict=True)
    return {
        **{name: row[name] for name in ("span_id", "parent_span_id", "name", "kind", "service", "status", "message")},
        "start": rfc3339(start),
        "offset_s": (start - began) / 1e9,
        "duration_s": int(row["duration_ns"]) / 1e9,
        "attributes": dict(row["attributes"]),
        "resource": dict(row["resource"]),
        "events": [{"time": rfc3339(int(at)), "name": name, "attributes": dict(told)} for at, name, told in events],
    }


def _signal(evidence: Evidence, name: str, about: Mapping[str, object]) -> dict[str, object]:
    frames = [frame for frame in (evidence.requests, evidence.series) if name in frame]
    seen = max(int(frame.loc[frame[name].notna(), "start"].max()) for frame in frames if frame[name].notna().any())
    every = about["interval_s"]
    finite = isinstance(every, float) and not pd.isna(every) and every != float("inf")
    return {
        "name": name,
        "unit": SIGNALS[name].unit,
        "meaning": SIGNALS[name].meaning,
        "sources": about["sources"],
        "rows": about["rows"],
        "interval_s": every if finite else None,
        "last_seen": rfc3339(seen),
    }


_EXTENT = """
SELECT toUnixTimestamp64Nano(min(Start)) AS low, toUnixTimestamp64Nano(max(End)) AS high
FROM otel_traces_trace_id_ts WHERE TraceId = {trace:String}
SETTINGS max_threads = 1
"""
_CUT = "mapApply((k, v) -> (k, substringUTF8(v, 1, {{value:UInt32}})), {column})"
_SPANS = f"""
SELECT * FROM (
SELECT SpanId AS span_id, ParentSpanId AS parent_span_id, toString(SpanName) AS name, toString(SpanKind) AS kind,
    toString(ServiceName) AS service, toString(StatusCode) AS status,
    substringUTF8(StatusMessage, 1, {{value:UInt32}}) AS message,
    toUnixTimestamp64Nano(Timestamp) AS start_ns, toInt64(Duration) AS duration_ns,
    {_CUT.format(column="SpanAttributes")} AS attributes, {_CUT.format(column="ResourceAttributes")} AS resource,
    arrayMap(x -> toUnixTimestamp64Nano(x), Events.Timestamp) AS event_times,
    arrayMap(x -> toString(x), Events.Name) AS event_names,
    arrayMap(m -> {_CUT.format(column="m")}, Events.Attributes) AS event_attributes,
    sum(byteSize(attributes, resource, event_attributes)) OVER (ORDER BY start_ns, span_id) AS size,
    count() OVER () AS all_spans
FROM otel_traces
WHERE TraceId = {{trace:String}} AND Timestamp >= fromUnixTimestamp64Nano({{low:Int64}})
    AND Timestamp <= fromUnixTimestamp64Nano({{high:Int64}})
) WHERE size <= {{bytes:UInt64}} ORDER BY start_ns, span_id LIMIT {{spans:UInt32}}
SETTINGS max_threads = 1, compile_expressions = 0
"""
"""Compiling pays for millions of rows; of a trace it is a fifth of the work."""
_TABLES = {"otel_traces": "Timestamp"} | {
    f"otel_metrics_{kind}": "TimeUnix" for kind in ("gauge", "sum", "histogram", "exponential_histogram", "summary")
}
