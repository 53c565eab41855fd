"""The tables have the columns and types the Collector's ClickHouse exporter documents."""

import pytest

MAP = "Map(LowCardinality(String), String)"
LOW = "LowCardinality(String)"
TIME = "DateTime64(9)"

EXEMPLARS = {
    "Exemplars.FilteredAttributes": f"Array({MAP})",
    "Exemplars.TimeUnix": f"Array({TIME})",
    "Exemplars.Value": "Array(Float64)",
    "Exemplars.SpanId": "Array(String)",
    "Exemplars.TraceId": "Array(String)",
}
POINT = {
    "ResourceAttributes": MAP,
    "ResourceSchemaUrl": "String",
    "ScopeName": "String",
    "ScopeVersion": "String",
    "ScopeAttributes": MAP,
    "ScopeDroppedAttrCount": "UInt32",
    "ScopeSchemaUrl": "String",
    "ServiceName": LOW,
    "MetricName": LOW,
    "MetricDescription": "String",
    "MetricUnit": "String",
    "Attributes": MAP,
    "StartTimeUnix": TIME,
    "TimeUnix": TIME,
    "Flags": "UInt32",
}
TOTALS = {"Count": "UInt64", "Sum": "Float64"}
RANGE = {"Min": "Float64", "Max": "Float64", "AggregationTemporality": "Int32"}

COLUMNS = {
    "otel_traces": {
        "Timestamp": TIME,
        "TraceId": "String",
        "SpanId": "String",
        "ParentSpanId": "String",
        "TraceState": "String",
        "SpanName": LOW,
        "SpanKind": LOW,
        "ServiceName": LOW,
        "ResourceAttributes": MAP,
        "ScopeName": "String",
        "ScopeVersion": "String",
        "SpanAttributes": MAP,
        "Duration": "UInt64",
        "StatusCode": LOW,
        "StatusMessage": "String",
        "Events.Timestamp": f"Array({TIME})",
        "Events.Name": f"Array({LOW})",
        "Events.Attributes": f"Array({MAP})",
        "Links.TraceId": "Array(String)",
        "Links.SpanId": "Array(String)",
        "Links.TraceState": "Array(String)",
        "Links.Attributes": f"Array({MAP})",
    },
    "otel_traces_trace_id_ts": {
        "TraceId": "String",
        "Start": f"SimpleAggregateFunction(min, {TIME})",
        "End": f"SimpleAggregateFunction(max, {TIME})",
    },
    "otel_logs": {
        "Timestamp": TIME,
        "TraceId": "String",
        "SpanId": "String",
        "TraceFlags": "UInt8",
        "SeverityText": LOW,
        "SeverityNumber": "UInt8",
        "ServiceName": LOW,
        "Body": "String",
        "ResourceSchemaUrl": LOW,
        "ResourceAttributes": MAP,
        "ScopeSchemaUrl": LOW,
        "ScopeName": "String",
        "ScopeVersion": LOW,
        "ScopeAttributes": MAP,
        "LogAttributes": MAP,
        "EventName": "String",
    },
    "otel_metrics_gauge": POINT | EXEMPLARS | {"Value": "Float64"},
    "otel_metrics_sum": POINT
    | EXEMPLARS
    | {"Value": "Float64", "AggregationTemporality": "Int32", "IsMonotonic": "Bool"},
    "otel_metrics_histogram": POINT
    | EXEMPLARS
    | TOTALS
    | RANGE
    | {"BucketCounts": "Array(UInt64)", "ExplicitBounds": "Array(Float64)"},
    "otel_metrics_exponential_histogram": POINT
    | EXEMPLARS
    | TOTALS
    | RANGE
    | {
        "Scale": "Int32",
        "ZeroCount": "UInt64",
        "PositiveOffset": "Int32",
        "PositiveBucketCounts": "Array(UInt64)",
        "NegativeOffset": "Int32",
        "NegativeBucketCounts": "Array(UInt64)",
    },
    "otel_metrics_summary": POINT
    | TOTALS
    | {"ValueAtQuantiles.Quantile": "Array(Float64)", "ValueAtQuantiles.Value": "Array(Float64)"},
}


@pytest.mark.parametrize("table", COLUMNS)
def test_columns(store, table):
    """Names and types of a table are the exporter's, times in nanoseconds."""
    described = store.query(f"DESCRIBE TABLE {table}")
    assert COLUMNS[table] == dict(zip(described["name"], described["type"], strict=True))


def test_no_other_tables(store):
    """Beside them stand only the staging tables, views with what they fill, and the incidents."""
    others = set(store.query("SHOW TABLES")["name"]) - set(COLUMNS)
    views = {"otel_traces_trace_id_ts_mv", "otel_traces_sixteenth_mv", "otel_traces_sixteenth"}
    assert {"otlp_traces", "otlp_logs", "otlp_metrics", "tollens_incidents", *views} == others
