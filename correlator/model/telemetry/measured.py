"""What a Prometheus registry holds, as metrics of the OpenTelemetry SDK."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.samples import Sample

MOST_POINTS = 5_000
"""Of one export; a registry that holds more is cut there."""
_CUMULATIVE = AggregationTemporality.CUMULATIVE
_MADE = ("_created", "_info")


def measured(registry: CollectorRegistry, resource: Resource, start: int, now: int) -> MetricsData:
    """All of the registry at `now`, counted since `start` (Unix ns)."""
    metrics = [metric for family in registry.collect() if (metric := _metric(family, start, now)) is not None]
    scope = ScopeMetrics(InstrumentationScope("tollens"), list(_bounded(metrics)), "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: Family, start: int, now: int) -> Metric | None:
    samples = [sample for sample in family.samples if not sample.name.endswith(_MADE)]
    if not samples:
        return None
    if family.type == "histogram":
        data: Sum | Gauge | Histogram = Histogram(list(_distributions(samples, start, now)), _CUMULATIVE)
    else:
        points = [NumberDataPoint(dict(s.labels), start, now, s.value) for s in samples]
        data = Sum(points, _CUMULATIVE, True) if family.type == "counter" else Gauge(points)
    return Metric(family.name, family.documentation, family.unit, data)


def _distributions(samples: Sequence[Sample], start: int, now: int) -> Iterator[HistogramDataPoint]:
    """One point for each set of labels; Prometheus counts up to each bound, OpenTelemetry between them."""
    grouped: dict[tuple[tuple[str, str], ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        grouped[tuple((k, v) for k, v in sorted(sample.labels.items()) if k != "le")].append(sample)
    for labels, same in grouped.items():
        reached = {float(s.labels["le"]): int(s.value) for s in same if s.name.endswith("_bucket")}
        totals = {s.name.rpartition("_")[2]: s.value for s in same if "le" not in s.labels}
        bounds = sorted(reached)
        counts = [high - low for low, high in pairwise([0, *(reached[bound] for bound in bounds)])]
        total, count = totals.get("sum", 0.0), int(totals.get("count", 0))
        extremes: Any = None  # optional in OTLP, though the SDK's type does not say so
        yield HistogramDataPoint(dict(labels), start, now, count, total, counts, bounds[:-1], extremes, extremes)


def _bounded(metrics: Sequence[Metric]) -> Iterator[Metric]:
    left = MOST_POINTS
    for metric in metrics:
        if len(metric.data.data_points) > left:
            return
        left -= len(metric.data.data_points)
        yield metric
