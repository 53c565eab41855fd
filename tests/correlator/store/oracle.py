"""The rows a request must become, worked out from the official protobuf classes alone."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from correlator.model.records import Signal

LATEST = 2**63 - 1
KINDS = ["Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"]
STATUSES = ["Unset", "Ok", "Error"]
REQUESTS = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}


@dataclass(frozen=True)
class Json:
    """Equal to any text that is JSON for `value`."""

    value: object
    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, str) and same_json(self.value, json.loads(other))


def same_json(expected, actual):
    """Equality that tells 1 from true, and does not mind a real number written without a point."""
    match expected, actual:
        case dict(), dict():
            return expected.keys() == actual.keys() and all(same_json(expected[key], actual[key]) for key in expected)
        case list(), list():
            return len(expected) == len(actual) and all(map(same_json, expected, actual))
        case float(), int() | float() if not isinstance(actual, bool):
            return expected == float(actual)
        case _:
            return type(expected) is type(actual) and expected == actual


def rows(signal, payload):
    """(table, row) for each record of a request."""
    request = REQUESTS[signal].FromString(payload)
    return list({Signal.TRACES: spans, Signal.METRICS: points, Signal.LOGS: logs}[signal](request))


def text(value):
    """A value as the Collector writes it into an attribute map; Json for what is nested."""
    match value.WhichOneof("value"):
        case "array_value" | "kvlist_value":
            return Json(nested(value))
        case "double_value":
            return real(value.double_value)
        case "bool_value":
            return str(value.bool_value).lower()
        case None:
            return ""
        case _:
            return str(nested(value))


def nested(value):
    match value.WhichOneof("value"):
        case "array_value":
            return [nested(item) for item in value.array_value.values]
        case "kvlist_value":
            return {pair.key: nested(pair.value) for pair in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "double_value":
            return value.double_value if np.isfinite(value.double_value) else real(value.double_value)
        case None:
            return None
        case kind:
            return getattr(value, kind)


def real(number):
    if not np.isfinite(number):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(number)]
    if number == 0 or 1e-6 <= abs(number) < 1e21:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=1)


def attributes(pairs):
    return {pair.key: text(pair.value) for pair in pairs}


def identity(id_):
    return id_.hex() if any(id_) else ""


def time(nano):
    return min(nano, LATEST)


def named(names, number):
    return names[number] if 0 <= number < len(names) else ""


def spans(request) -> Iterator[tuple[str, dict]]:
    for resource_spans in request.resource_spans:
        resource = attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            scope = {"ScopeName": scope_spans.scope.name, "ScopeVersion": scope_spans.scope.version}
            for span in scope_spans.spans:
                yield "otel_traces", origin(resource) | scope | span_row(span)


def origin(resource):
    return {"ResourceAttributes": resource, "ServiceName": resource.get("service.name", "")}


def span_row(span):
    return {
        "Timestamp": time(span.start_time_unix_nano),
        "TraceId": identity(span.trace_id),
        "SpanId": identity(span.span_id),
        "ParentSpanId": identity(span.parent_span_id),
        "TraceState": span.trace_state,
        "SpanName": span.name,
        "SpanKind": named(KINDS, span.kind),
        "SpanAttributes": attributes(span.attributes),
        "Duration": max(0, span.end_time_unix_nano - span.start_time_unix_nano),
        "StatusCode": named(STATUSES, span.status.code),
        "StatusMessage": span.status.message,
        "Events.Timestamp": [time(event.time_unix_nano) for event in span.events],
        "Events.Name": [event.name for event in span.events],
        "Events.Attributes": [attributes(event.attributes) for event in span.events],
        "Links.TraceId": [identity(link.trace_id) for link in span.links],
        "Links.SpanId": [identity(link.span_id) for link in span.links],
        "Links.TraceState": [link.trace_state for link in span.links],
        "Links.Attributes": [attributes(link.attributes) for link in span.links],
    }


def logs(request) -> Iterator[tuple[str, dict]]:
    for resource_logs in request.resource_logs:
        resource = origin(attributes(resource_logs.resource.attributes))
        for scope_logs in resource_logs.scope_logs:
            scope = scope_columns(resource_logs, scope_logs)
            for record in scope_logs.log_records:
                yield "otel_logs", resource | scope | log_row(record)


def scope_columns(resource, scoped):
    return {
        "ResourceSchemaUrl": resource.schema_url,
        "ScopeSchemaUrl": scoped.schema_url,
        "ScopeName": scoped.scope.name,
        "ScopeVersion": scoped.scope.version,
        "ScopeAttributes": attributes(scoped.scope.attributes),
    }


def log_row(record):
    return {
        "Timestamp": time(record.time_unix_nano or record.observed_time_unix_nano),
        "TraceId": identity(record.trace_id),
        "SpanId": identity(record.span_id),
        "TraceFlags": record.flags & 0xFF,
        "SeverityText": record.severity_text,
        "SeverityNumber": record.severity_number if 0 <= record.severity_number <= 255 else 0,
        "Body": text(record.body),
        "LogAttributes": attributes(record.attributes),
        "EventName": record.event_name,
    }


def points(request) -> Iterator[tuple[str, dict]]:
    for resource_metrics in request.resource_metrics:
        resource = origin(attributes(resource_metrics.resource.attributes))
        for scope_metrics in resource_metrics.scope_metrics:
            scope = scope_columns(resource_metrics, scope_metrics)
            scope["ScopeDroppedAttrCount"] = scope_metrics.scope.dropped_attributes_count
            for metric in scope_metrics.metrics:
                for table, row in metric_rows(metric):
                    yield table, resource | scope | row


def metric_rows(metric):
    kind = metric.WhichOneof("data")
    head = {"MetricName": metric.name, "MetricDescription": metric.description, "MetricUnit": metric.unit}
    data = getattr(metric, kind) if kind else None
    if hasattr(data, "aggregation_temporality"):
        head["AggregationTemporality"] = data.aggregation_temporality
    if kind == "sum":
        head["IsMonotonic"] = data.is_monotonic
    for point in data.data_points if data else ():
        yield f"otel_metrics_{kind}", head | point_row(point) | POINTS[kind](point)


def point_row(point):
    return {
        "Attributes": attributes(point.attributes),
        "StartTimeUnix": time(point.start_time_unix_nano),
        "TimeUnix": time(point.time_unix_nano),
        "Flags": point.flags,
    }


def number(point):
    return float(point.as_int) if point.WhichOneof("value") == "as_int" else point.as_double


def exemplars(point):
    return {
        "Exemplars.FilteredAttributes": [attributes(one.filtered_attributes) for one in point.exemplars],
        "Exemplars.TimeUnix": [time(one.time_unix_nano) for one in point.exemplars],
        "Exemplars.Value": [number(one) for one in point.exemplars],
        "Exemplars.SpanId": [identity(one.span_id) for one in point.exemplars],
        "Exemplars.TraceId": [identity(one.trace_id) for one in point.exemplars],
    }


def number_row(point):
    return {"Value": number(point)} | exemplars(point)


def distribution(point):
    total = {"Count": point.count, "Sum": point.sum, "Min": point.min, "Max": point.max}
    return total | exemplars(point)


def histogram_row(point):
    buckets = {"BucketCounts": list(point.bucket_counts), "ExplicitBounds": list(point.explicit_bounds)}
    return distribution(point) | buckets


def exponential_row(point):
    return distribution(point) | {
        "Scale": point.scale,
        "ZeroCount": point.zero_count,
        "PositiveOffset": point.positive.offset,
        "PositiveBucketCounts": list(point.positive.bucket_counts),
        "NegativeOffset": point.negative.offset,
        "NegativeBucketCounts": list(point.negative.bucket_counts),
    }


def summary_row(point):
    return {
        "Count": point.count,
        "Sum": point.sum,
        "ValueAtQuantiles.Quantile": [one.quantile for one in point.quantile_values],
        "ValueAtQuantiles.Value": [one.value for one in point.quantile_values],
    }


POINTS = {
    "gauge": number_row,
    "sum": number_row,
    "histogram": histogram_row,
    "exponential_histogram": exponential_row,
    "summary": summary_row,
}
