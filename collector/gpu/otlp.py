"""What a sampler read, as OTLP: readings of one device become a metrics request, a happening a log request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, NumberDataPoint

from collector.attributes import Value, clean, set_attributes

Kind = Literal["gauge", "counter", "updowncounter"]
Attributes = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Reading:
    """One value at one time. A counter only grows, since a start that the device does not tell."""

    name: str
    unit: str
    value: int | float
    kind: Kind = "gauge"
    attributes: Attributes = field(default_factory=dict)


Batch = tuple[Attributes, int, Iterable[Reading]]  # resource, unix_nano, readings


def metrics_request(scope: str, batches: Iterable[Batch]) -> bytes:
    """All batches as one request; the readings of a resource that bear one name become one metric."""
    request = ExportMetricsServiceRequest()
    for resource, unix_nano, readings in batches:
        one = request.resource_metrics.add()
        set_attributes(one.resource, resource)
        scoped = one.scope_metrics.add()
        scoped.scope.name = scope
        metrics: dict[str, Metric] = {}
        for reading in readings:
            if reading.name not in metrics:
                metrics[reading.name] = scoped.metrics.add(name=reading.name, unit=reading.unit)
            _add(metrics[reading.name], reading, unix_nano)
    return request.SerializeToString()


def _add(metric: Metric, reading: Reading, unix_nano: int) -> None:
    point = NumberDataPoint(time_unix_nano=unix_nano)
    if isinstance(reading.value, int):
        point.as_int = min(reading.value, 2**63 - 1)
    else:
        point.as_double = reading.value
    set_attributes(point, reading.attributes)
    if reading.kind == "gauge":
        metric.gauge.data_points.append(point)
        return
    metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    metric.sum.is_monotonic = reading.kind == "counter"
    metric.sum.data_points.append(point)


def event_request(
    scope: str, resource: Attributes, unix_nano: int, event: str, body: str, attributes: Attributes
) -> bytes:
    """One happening as a log record of severity error."""
    request = ExportLogsServiceRequest()
    one = request.resource_logs.add()
    set_attributes(one.resource, resource)
    scoped = one.scope_logs.add()
    scoped.scope.name = scope
    record = scoped.log_records.add(
        time_unix_nano=unix_nano,
        observed_time_unix_nano=unix_nano,
        severity_number=SeverityNumber.SEVERITY_NUMBER_ERROR,
        severity_text="ERROR",
        event_name=event,
    )
    record.body.string_value = clean(body)
    set_attributes(record, attributes)
    return request.SerializeToString()
