"""One Prometheus page → OTLP metrics, named as exposed; cumulative `le` buckets become counts a bucket."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from string import hexdigits

from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Exemplar,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
    Summary,
    SummaryDataPoint,
)

from collector.files._page import Fault, Page
from collector.files._series import Labels, Sample, Series
from collector.files._times import SECOND, plausible, written_unix_nano

_CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
_Quantile = SummaryDataPoint.ValueAtQuantile
_ID_LABELS = {"trace_id": 32, "span_id": 16}
_MAX_COUNT = 2**63


@dataclass(slots=True)
class _Group:
    """The samples of one histogram or summary at one time."""

    series: Series
    line: int
    inner: dict[float, float] = field(default_factory=dict)  # bound → cumulative count, or quantile → value
    sum: float | None = None
    count: float | None = None
    exemplars: list[Exemplar] = field(default_factory=list)


@dataclass(slots=True)
class _Family:
    """The samples of one type line, with their suffixes."""

    name: str
    type: str
    members: list[tuple[str, Sample, int]] = field(default_factory=list)  # suffix, sample, unix_nano


def metrics(page: Page, default_unix_nano: int, fault: Fault) -> Iterator[Metric]:
    """The page's metrics; samples without a time of their own get the default."""
    families = _families(page, default_unix_nano, fault)
    starts = _starts(families)
    for family in families.values():
        build = _BUILDERS.get(family.type, _gauges)
        for metric in build(family, starts, fault):
            metric.description = page.helps.get(family.name, "")
            metric.unit = page.units.get(family.name, "")
            yield metric


def _families(page: Page, default: int, fault: Fault) -> dict[str, _Family]:
    families: dict[str, _Family] = {}
    places: dict[str, tuple[_Family, str]] = {}
    for sample in page.samples:
        name = sample.series.name
        if name not in places:
            family, suffix = page.family(name)
            of_type = page.types.get(family, "unknown")
            places[name] = families.setdefault(family, _Family(family, of_type)), suffix
        place, suffix = places[name]
        try:
            unix_nano = default if sample.time is None else page.unix_nano_of(sample.time)
        except ValueError as error:
            fault(sample.line, name, str(error))
            continue
        place.members.append((suffix, sample, unix_nano))
    return families


def _starts(families: dict[str, _Family]) -> dict[tuple[str, Labels], int]:
    """Take the `_created` samples out of the data: the start of the counting, by family and labels."""
    starts = {}
    for family in families.values():
        base = _created_for(family, families)
        if base is None and not any(suffix == "_created" for suffix, _, _ in family.members):
            continue
        kept = []
        for suffix, sample, unix_nano in family.members:
            start = int(sample.value * SECOND) if 0 < sample.value < SECOND * 10 else 0
            tells_start = base is not None or suffix == "_created"
            if tells_start and plausible(start) is None:
                starts[base or family.name, sample.series.labels] = start
            elif suffix != "_created":
                kept.append((suffix, sample, unix_nano))
        family.members = kept
    return starts


def _created_for(family: _Family, families: dict[str, _Family]) -> str | None:
    """The family whose start this gauge tells, as Prometheus text has no better place for it."""
    base = family.name.removesuffix("_created")
    if base == family.name or family.type != "gauge":
        return None
    found = (families.get(name) for name in (base, f"{base}_total"))
    return next((f.name for f in found if f and f.type in ("counter", "histogram", "summary")), None)


_Starts = dict[tuple[str, Labels], int]


def _gauges(family: _Family, starts: _Starts, fault: Fault) -> Iterator[Metric]:
    for name, points in _points(family, {}).items():
        yield Metric(name=name, gauge=Gauge(data_points=points))


def _sums(family: _Family, starts: _Starts, fault: Fault) -> Iterator[Metric]:
    for name, points in _points(family, starts).items():
        total = Sum(data_points=points, aggregation_temporality=_CUMULATIVE, is_monotonic=True)
        yield Metric(name=name, sum=total)


def _points(family: _Family, starts: _Starts) -> dict[str, list[NumberDataPoint]]:
    by_name: dict[str, list[NumberDataPoint]] = {}
    for _, sample, unix_nano in family.members:
        point = NumberDataPoint(
            attributes=sample.series.attributes,
            start_time_unix_nano=starts.get((family.name, sample.series.labels), 0),
            time_unix_nano=unix_nano,
            as_double=sample.value,
        )
        if sample.exemplar:
            point.exemplars.append(_exemplar(sample.exemplar, unix_nano))
        by_name.setdefault(sample.series.name, []).append(point)
    return by_name


def _exemplar(sample: Sample, unix_nano: int) -> Exemplar:
    exemplar = Exemplar(time_unix_nano=unix_nano, as_double=sample.value)
    if sample.time is not None:
        exemplar.time_unix_nano = written_unix_nano(sample.time, SECOND)
    for (key, value), attribute in zip(sample.series.labels, sample.series.attributes, strict=True):
        if _ID_LABELS.get(key) == len(value) and not set(value) - set(hexdigits):
            setattr(exemplar, key, bytes.fromhex(value))
        else:
            exemplar.filtered_attributes.append(attribute)
    return exemplar


def _groups(family: _Family, fault: Fault) -> Iterator[tuple[int, _Group]]:
    groups: dict[tuple[Labels, int], _Group] = {}
    for suffix, sample, unix_nano in family.members:
        series = sample.series
        key = (series.outer, unix_nano)
        group = groups.get(key) or groups.setdefault(key, _Group(series, sample.line))
        if suffix in ("_sum", "_gsum"):
            group.sum = sample.value
        elif suffix in ("_count", "_gcount"):
            group.count = sample.value
        elif series.bound is None:
            label = "quantile" if family.type == "summary" else "le"
            fault(sample.line, series.name, f"expected a label {label} with a number")
        else:
            group.inner[series.bound] = sample.value
        if sample.exemplar:
            group.exemplars.append(_exemplar(sample.exemplar, unix_nano))
    for (_, unix_nano), group in groups.items():
        yield unix_nano, group


def _histograms(family: _Family, starts: _Starts, fault: Fault) -> Iterator[Metric]:
    points = []
    for unix_nano, group in _groups(family, fault):
        try:
            bounds, counts, total = _buckets(group)
        except ValueError as error:
            fault(group.line, family.name, str(error))
            continue
        point = HistogramDataPoint(
            attributes=group.series.outer_attributes,
            start_time_unix_nano=starts.get((family.name, group.series.outer), 0),
            time_unix_nano=unix_nano,
            count=total,
            explicit_bounds=bounds,
            bucket_counts=counts,
            exemplars=group.exemplars,
        )
        if group.sum is not None:
            point.sum = group.sum
        points.append(point)
    if points:
        histogram = Histogram(data_points=points, aggregation_temporality=_CUMULATIVE)
        yield Metric(name=family.name, histogram=histogram)


def _buckets(group: _Group) -> tuple[list[float], list[int], int]:
    """(bounds, counts, total), the last bucket reaching infinity. Raises ValueError if they cannot be."""
    bounds = sorted(bound for bound in group.inner if bound != math.inf)
    up_to = [_whole(group.inner[bound]) for bound in bounds]
    total_read = group.inner.get(math.inf, group.count)
    if total_read is None:
        raise ValueError('expected a bucket le="+Inf" or a _count')
    total = _whole(total_read)
    if not group.inner:
        return [], [], total
    counts = [high - low for low, high in pairwise([0, *up_to, total])]
    if min(counts) < 0:
        raise ValueError("expected bucket counts that do not fall from one bound to the next")
    return bounds, counts, total


def _whole(value: float) -> int:
    if not 0 <= value < _MAX_COUNT:
        raise ValueError(f"expected a count of 0 or more, found {value}")
    return int(value)


def _summaries(family: _Family, starts: _Starts, fault: Fault) -> Iterator[Metric]:
    points = []
    for unix_nano, group in _groups(family, fault):
        try:
            count = _whole(group.count if group.count is not None else 0.0)
        except ValueError as error:
            fault(group.line, family.name, str(error))
            continue
        values = [_Quantile(quantile=q, value=v) for q, v in sorted(group.inner.items())]
        points.append(
            SummaryDataPoint(
                attributes=group.series.outer_attributes,
                start_time_unix_nano=starts.get((family.name, group.series.outer), 0),
                time_unix_nano=unix_nano,
                count=count,
                sum=group.sum or 0.0,
                quantile_values=values,
            )
        )
    if points:
        yield Metric(name=family.name, summary=Summary(data_points=points))


_BUILDERS = {"counter": _sums, "histogram": _histograms, "gaugehistogram": _histograms, "summary": _summaries}
