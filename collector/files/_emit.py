"""Log records and data points of one resource, gathered into OTLP requests of bounded size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, NumberDataPoint

from collector.attributes import Value, clean, set_attributes
from correlator.model.records import Batch, Signal

MAX_RECORDS = 5_000
MAX_BYTES = 1 << 20  # of text; a request stays well under 4 MiB
BODY_LIMIT = 8_192  # characters
DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE

_UNKNOWN = SeverityNumber.SEVERITY_NUMBER_UNSPECIFIED
SEVERITY: dict[str, SeverityNumber.ValueType] = {
    "TRACE": SeverityNumber.SEVERITY_NUMBER_TRACE,
    "DEBUG": SeverityNumber.SEVERITY_NUMBER_DEBUG,
    "INFO": SeverityNumber.SEVERITY_NUMBER_INFO,
    "NOTICE": SeverityNumber.SEVERITY_NUMBER_INFO2,
    "WARN": SeverityNumber.SEVERITY_NUMBER_WARN,
    "WARNING": SeverityNumber.SEVERITY_NUMBER_WARN,
    "ERROR": SeverityNumber.SEVERITY_NUMBER_ERROR,
    "CRITICAL": SeverityNumber.SEVERITY_NUMBER_FATAL,
    "FATAL": SeverityNumber.SEVERITY_NUMBER_FATAL,
}


_SECRET = re.compile(r"""(?i)((?:api[_-]?key|hf[_-]?token|password|secret)['"]?\s*[:=]\s*\[?['"]?)[^'",\s\]}]+""")
"""A secret given as a flag or setting; its name stays, its value does not."""


@dataclass(slots=True)
class Emitter:
    """Gathers what one log file says. Ask `batches()` whenever `full`, and once more at the end."""

    source: str
    service: str
    scope: str
    _logs: dict[str, list[LogRecord]] = field(default_factory=dict, init=False)  # by service
    _metrics: dict[str, Metric] = field(default_factory=dict, init=False)
    _records: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    @property
    def full(self) -> bool:
        return self._records >= MAX_RECORDS or self._bytes >= MAX_BYTES

    def log(
        self,
        unix_nano: int,
        level: str,
        body: str,
        event: str = "",
        attributes: Mapping[str, Value] | None = None,
        trace_id: bytes = b"",
        span_id: bytes = b"",
        service: str = "",
    ) -> None:
        """One log record; body and attribute texts are cut at their limits. `service` if not the file's."""
        record = LogRecord(
            time_unix_nano=unix_nano,
            severity_number=SEVERITY.get(level, _UNKNOWN),
            severity_text=level,
            event_name=event,
            trace_id=trace_id,
            span_id=span_id,
        )
        record.body.string_value = clean(_SECRET.sub(r"\1***", body[:BODY_LIMIT]))
        set_attributes(record, attributes or {})
        self._logs.setdefault(service or self.service, []).append(record)
        self._count(len(body))

    def gauge(self, name: str, unit: str, unix_nano: int, value: float, attributes: Mapping[str, Value]) -> None:
        """One point of a gauge."""
        metric = self._metric(name, unit)
        self._point(metric.gauge.data_points.add(), unix_nano, float(value), attributes)

    def sum(
        self,
        name: str,
        unit: str,
        start_unix_nano: int,
        unix_nano: int,
        value: int | float,
        attributes: Mapping[str, Value],
        temporality: AggregationTemporality.ValueType = DELTA,
    ) -> None:
        """One point of a monotonic sum over the time from start to `unix_nano`."""
        metric = self._metric(name, unit)
        metric.sum.aggregation_temporality = temporality
        metric.sum.is_monotonic = True
        point = metric.sum.data_points.add(start_time_unix_nano=start_unix_nano)
        self._point(point, unix_nano, value, attributes)

    def observe(self, name: str, unit: str, unix_nano: int, value: float, attributes: Mapping[str, Value]) -> None:
        """One observation, as a histogram of its own."""
        metric = self._metric(name, unit)
        metric.histogram.aggregation_temporality = DELTA
        point = metric.histogram.data_points.add(
            start_time_unix_nano=unix_nano, time_unix_nano=unix_nano, count=1, sum=value, bucket_counts=[1]
        )
        set_attributes(point, attributes)
        self._count(0)

    def batches(self) -> Iterator[Batch]:
        """Everything gathered since the last call."""
        if self._metrics:
            yield Batch(Signal.METRICS, self._metrics_request())
        if self._logs:
            yield Batch(Signal.LOGS, self._logs_request())
        self._metrics.clear()
        self._logs.clear()
        self._records = self._bytes = 0

    def _metric(self, name: str, unit: str) -> Metric:
        if name not in self._metrics:
            self._metrics[name] = Metric(name=name, unit=unit)
        return self._metrics[name]

    def _point(
        self, point: NumberDataPoint, unix_nano: int, value: float | int, attributes: Mapping[str, Value]
    ) -> None:
        point.time_unix_nano = unix_nano
        if isinstance(value, int):
            point.as_int = value
        else:
            point.as_double = value
        set_attributes(point, attributes)
        self._count(0)

    def _count(self, size: int) -> None:
        self._records += 1
        self._bytes += size

    def _logs_request(self) -> bytes:
        request = ExportLogsServiceRequest()
        for service, records in self._logs.items():
            resource = request.resource_logs.add()
            set_attributes(resource.resource, self._resource(service))
            scope = resource.scope_logs.add()
            scope.scope.name = self.scope
            scope.log_records.extend(records)
        return request.SerializeToString()

    def _metrics_request(self) -> bytes:
        request = ExportMetricsServiceRequest()
        resource = request.resource_metrics.add()
        set_attributes(resource.resource, self._resource(self.service))
        scope = resource.scope_metrics.add()
        scope.scope.name = self.scope
        scope.metrics.extend(self._metrics.values())
        return request.SerializeToString()

    def _resource(self, service: str) -> dict[str, Value]:
        return {
            "service.name": service,
            "log.file.name": PurePath(self.source).name or self.source,
            "log.file.path": self.source,
        }
