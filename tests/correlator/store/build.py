"""Small requests for the example tests."""

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from correlator.model.records import Batch, Signal


def log_batch(body="hello", **values):
    """One log record with text attributes."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
    record.body.string_value = body
    for key, value in values.items():
        record.attributes.append(KeyValue(key=key, value=AnyValue(string_value=value)))
    return Batch(Signal.LOGS, request.SerializeToString())


def tree_batch(leaf):
    """One log record whose body is a key-value list."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
    tree = KeyValueList(values=[KeyValue(key="leaf", value=AnyValue(string_value=leaf))])
    record.body.kvlist_value.CopyFrom(tree)
    return Batch(Signal.LOGS, request.SerializeToString())


def span_batch(name="chat", trace_id=bytes(range(16)), start=1, end=2):
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(
        name=name, trace_id=trace_id, start_time_unix_nano=start, end_time_unix_nano=end
    )
    return Batch(Signal.TRACES, request.SerializeToString())


def metric_batch(*metrics):
    request = ExportMetricsServiceRequest()
    request.resource_metrics.add().scope_metrics.add().metrics.extend(metrics)
    return Batch(Signal.METRICS, request.SerializeToString())


def gauge(name="usage", **point):
    metric = Metric(name=name)
    metric.gauge.data_points.add(**point)
    return metric
