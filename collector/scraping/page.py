"""A scraped page → OTLP metrics of one time, and the markers that say a series is no longer there."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, DataPointFlags, Metric

from collector.files._metrics import metrics
from collector.files._page import Page, pages
from collector.files._series import Labels, attributes
from collector.files._services import service_of
from collector.gpu.dcgm_fields import as_meant
from collector.scraping.fetch import Body, ScrapeError

_GONE = DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
_CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE

Series = tuple[str, str, Labels]  # kind of metric, its name, attributes


@dataclass(slots=True)
class Exposed:
    """What a page holds; `faults` counts its lines that could not be used, `fault` tells the first of them."""

    metrics: list[Metric] = field(default_factory=list)
    samples: int = 0
    service: str | None = None
    faults: int = 0
    fault: str = ""

    def note(self, line: int, name: str, reason: str) -> None:
        """Count a line that could not be used."""
        self.faults += 1
        self.fault = self.fault or f"line {line}: {name[:60]} {reason}"


def exposed(body: Body, unix_nano: int, sample_limit: int) -> Exposed:
    """The page's metrics at the given time. Raises ScrapeError on too many samples or a page without a sound line."""
    out = Exposed()
    names: set[str] = set()
    for page in _bounded(pages(io.BytesIO(body.content), out.note), sample_limit, out):
        page.openmetrics = body.openmetrics
        names.update(sample.series.name for sample in page.samples)
        out.metrics += filter(None, map(as_meant, metrics(page, unix_nano, out.note)))
    if out.faults and not out.samples:
        raise ScrapeError("malformed", f"expected Prometheus text, found {out.fault}")
    out.service = service_of(names)
    return out


def _bounded(found: Iterator[Page], sample_limit: int, out: Exposed) -> Iterator[Page]:
    """The parts of a page, each series once."""
    seen: set[tuple[str, Labels, str | None]] = set()
    for page in found:
        fresh = []
        for sample in page.samples:
            key = (sample.series.name, sample.series.labels, sample.time)
            if key in seen:
                out.note(sample.line, sample.series.name, "expected each series once")
            else:
                seen.add(key)
                fresh.append(sample)
        page.samples = fresh
        out.samples += len(fresh)
        if out.samples > sample_limit:
            raise ScrapeError("sample_limit", f"expected at most {sample_limit} samples")
        yield page


def series_of(found: Iterable[Metric], unix_nano: int) -> set[Series]:
    """The series that have a point of this time; one that brings its own time is not watched for its end."""
    out: set[Series] = set()
    for metric in found:
        kind = metric.WhichOneof("data") or "gauge"
        for point in getattr(metric, kind).data_points:
            if point.time_unix_nano == unix_nano:
                labels = tuple((pair.key, pair.value.string_value) for pair in point.attributes)
                out.add((kind, metric.name, labels))
    return out


def markers(gone: Iterable[Series], unix_nano: int) -> list[Metric]:
    """A point without a value for each series: it was there before and is not any more."""
    by_metric: dict[tuple[str, str], list[Labels]] = defaultdict(list)
    for kind, name, labels in gone:
        by_metric[kind, name].append(labels)
    return [_marker(kind, name, labels, unix_nano) for (kind, name), labels in sorted(by_metric.items())]


def _marker(kind: str, name: str, series: list[Labels], unix_nano: int) -> Metric:
    metric = Metric(name=name)
    data = getattr(metric, kind)
    if kind in ("sum", "histogram"):
        data.aggregation_temporality = _CUMULATIVE
    if kind == "sum":
        data.is_monotonic = True
    for labels in sorted(series):
        data.data_points.add(attributes=attributes(labels), time_unix_nano=unix_nano, flags=_GONE)
    return metric
