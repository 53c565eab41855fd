"""Collects what both services and the node would export, and puts it into export requests, one a line."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.lab.otlp import Json, attributes, hex_id, histogram_point, resource

EXPORT_S = 5.0
SECONDS = tuple(0.01 * 2**i for i in range(14))
TOKENS = tuple(float(4**i) for i in range(14))
MILLIS = (0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2500.0, 5000.0, 7500.0, 10000.0)
"""The SDK's default bounds, meant for milliseconds and used here for seconds, as in the recordings."""
Labels = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Source:
    """A resource and an instrumentation scope."""

    service: str
    instance: str
    scope: str
    more: Labels = ()


@dataclass(frozen=True)
class Measurement:
    """One value of a histogram; `ids` are the trace and the span it was measured in."""

    moment: float
    source: Source
    name: str
    unit: str
    bounds: tuple[float, ...]
    labels: Labels
    value: float
    ids: tuple[str, str]


@dataclass
class Telemetry:
    """`epoch` is the Unix second at simulated zero."""

    epoch: int
    rng: np.random.Generator
    _spans: list[tuple[float, Source, Json]] = field(default_factory=list)
    _logs: list[tuple[float, Source, Json]] = field(default_factory=list)
    _measured: list[Measurement] = field(default_factory=list)
    _ready: list[tuple[float, Source, list[Json]]] = field(default_factory=list)

    def nano(self, moment: float) -> int:
        """Unix nanoseconds of a simulated moment."""
        return self.epoch * 1_000_000_000 + round(moment * 1e9)

    def span_id(self) -> str:
        """A new one."""
        return hex_id(self.rng, 8)

    def trace_id(self) -> str:
        """A new one."""
        return hex_id(self.rng, 16)

    def span(
        self, source: Source, name: str, kind: int, ids: tuple[str, str, str], start: float, end: float,
        values: Mapping[str, Any], error: tuple[str, str] | None = None, ok: bool = False,
    ) -> None:  # fmt: skip
        """A finished span; `ids` are trace, span and parent ("" for none), `error` type and message."""
        record: Json = {"traceId": ids[0], "spanId": ids[1], "name": name, "kind": kind}
        if ids[2]:
            record["parentSpanId"] = ids[2]
        record |= {"startTimeUnixNano": str(self.nano(start)), "endTimeUnixNano": str(self.nano(end))}
        record |= {"attributes": attributes(values), "status": {"code": 1} if ok else {}, "flags": 256}
        if error:
            record["status"] = {"code": 2, "message": error[1]}
            said = {"exception.type": f"openai.{error[0]}", "exception.message": error[1]}
            event = {"timeUnixNano": str(self.nano(end)), "name": "exception", "attributes": attributes(said)}
            record["events"] = [event]
        self._spans.append((end, source, record))

    def log(
        self, source: Source, moment: float, level: str, text: str, ids: tuple[str, str], event: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """A log record inside a span; `event` names one that is an event, and `values` are what it carries."""
        number = {"INFO": 9, "WARN": 13, "ERROR": 17}[level]
        record = {
            "timeUnixNano": str(self.nano(moment)), "observedTimeUnixNano": str(self.nano(moment)),
            "severityNumber": number, "severityText": level, "body": {"stringValue": text}, "flags": 3,
            "traceId": ids[0], "spanId": ids[1], **({"eventName": event} if event else {}),
            **({"attributes": attributes(values)} if values else {}),
        }  # fmt: skip
        self._logs.append((moment, source, record))

    def measure(
        self, source: Source, name: str, unit: str, bounds: tuple[float, ...], labels: Mapping[str, Any],
        moment: float, value: float, ids: tuple[str, str],
    ) -> None:  # fmt: skip
        """A value of a histogram, exported with the others of its kind every five seconds."""
        self._measured.append(Measurement(moment, source, name, unit, bounds, tuple(labels.items()), value, ids))

    def metrics(self, source: Source, moment: float, metrics: list[Json]) -> None:
        """Metrics that are ready to be exported."""
        self._ready.append((moment, source, metrics))

    def trace_lines(self) -> Iterator[str]:
        """Export requests with spans."""
        return self._lines("resourceSpans", "scopeSpans", "spans", self._spans)

    def log_lines(self) -> Iterator[str]:
        """Export requests with log records."""
        return self._lines("resourceLogs", "scopeLogs", "logRecords", self._logs)

    def metric_lines(self) -> Iterator[str]:
        """Export requests with metrics."""
        every = sorted([*self._ready, *self._histograms()], key=lambda item: item[0])
        for _, source, metrics in every:
            yield _request("resourceMetrics", "scopeMetrics", "metrics", {source: metrics})

    def _lines(self, outer: str, inner: str, leaf: str, records: list[tuple[float, Source, Json]]) -> Iterator[str]:
        batches: dict[tuple[int, str], dict[Source, list[Json]]] = defaultdict(lambda: defaultdict(list))
        for moment, source, record in sorted(records, key=lambda item: item[0]):
            batches[int(moment / EXPORT_S), source.instance][source].append(record)
        for batch in batches.values():
            yield _request(outer, inner, leaf, batch)

    def _histograms(self) -> Iterator[tuple[float, Source, list[Json]]]:
        by_source: dict[Source, list[Measurement]] = defaultdict(list)
        for item in sorted(self._measured, key=lambda item: item.moment):
            by_source[item.source].append(item)
        for source, items in by_source.items():
            first, last = items[0].moment, items[-1].moment
            for i in range(1, int((last - first) / EXPORT_S) + 2):
                now = first + i * EXPORT_S
                yield now, source, self._exported([item for item in items if item.moment <= now], first, now)

    def _exported(self, items: list[Measurement], first: float, now: float) -> list[Json]:
        grouped: dict[tuple[str, str], dict[Labels, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
        for item in items:
            grouped[item.name, item.unit][item.labels].append(item)
        out = []
        for (name, unit), groups in grouped.items():
            points = [self._point(group, first, now) for group in groups.values()]
            out.append({"name": name, "unit": unit, "histogram": {"dataPoints": points, "aggregationTemporality": 2}})
        return out

    def _point(self, group: list[Measurement], first: float, now: float) -> Json:
        exemplars = [
            {
                "timeUnixNano": str(self.nano(m.moment)),
                "asDouble": float(m.value),
                "traceId": m.ids[0],
                "spanId": m.ids[1],
            }
            for m in group[-2:]
        ]
        times = (self.nano(first), self.nano(now))
        return histogram_point([m.value for m in group], group[0].bounds, dict(group[0].labels), times, exemplars)


def _request(outer: str, inner: str, leaf: str, batch: Mapping[Source, list[Json]]) -> str:
    whole = [
        {
            "resource": resource(source.service, source.instance, {**dict(source.more), "host.name": "node-a"}),
            inner: [{"scope": {"name": source.scope}, leaf: records}],
        }
        for source, records in batch.items()
    ]
    return json.dumps({outer: whole}, separators=(",", ":"))
