"""Small OTLP requests, sound and unsound, of each signal."""

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from correlator.model.records import Signal

NOW = 1_796_000_000 * 10**9
TRACE_ID, SPAN_ID = bytes(range(16)), bytes(range(8))


def span(**changes: object) -> Span:
    usual = {"trace_id": TRACE_ID, "span_id": SPAN_ID, "start_time_unix_nano": NOW, "end_time_unix_nano": NOW + 5}
    return Span(**(usual | changes))


def spans(*found: Span) -> bytes:
    scope = ScopeSpans(spans=found)
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[scope])]).SerializeToString()


def log(**changes: object) -> LogRecord:
    return LogRecord(**({"time_unix_nano": NOW} | changes))


def logs(*found: LogRecord) -> bytes:
    scope = ScopeLogs(log_records=found)
    return ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[scope])]).SerializeToString()


def metrics(*found: Metric) -> bytes:
    scope = ScopeMetrics(metrics=found)
    return ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(scope_metrics=[scope])]).SerializeToString()


def points(*times: int) -> bytes:
    """A gauge, a sum and a histogram, each with a point at each time."""
    numbers = [NumberDataPoint(time_unix_nano=time, as_int=1) for time in times]
    histogram = [HistogramDataPoint(time_unix_nano=time) for time in times]
    return metrics(
        Metric(name="a", gauge=Gauge(data_points=numbers)),
        Metric(name="b", sum=Sum(data_points=numbers)),
        Metric(name="c", histogram=Histogram(data_points=histogram)),
    )


SOUND = {
    Signal.TRACES: spans(span(name="a"), span(name="b")),
    Signal.METRICS: points(NOW),
    Signal.LOGS: logs(log(), log()),
}
RECORDS = {Signal.TRACES: 2, Signal.METRICS: 3, Signal.LOGS: 2}
KINDS: dict[Signal, type[Message]] = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}
