"""Strategies that draw OTLP requests of every signal, with the corners real senders reach."""

from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Exemplar,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

DAY = 86_400 * 10**9
NOW = 20_787 * DAY + 12_905_333_000_001

texts = st.text(max_size=12) | st.sampled_from(["", "'", "\\", "\\N", "\0", "\u2028", "a\tb\n", "{x}", '"</'])
counts = st.integers(0, 2**64 - 1) | st.integers(0, 9)
reals = st.floats() | st.sampled_from([0.0, -0.0, 1e21, 1e-7, 1e-6, 999999999999999900000.0, 5e-324])
ints = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)
int32s = st.integers(-(2**31), 2**31 - 1)
uint32s = st.integers(0, 2**32 - 1)
times = st.sampled_from([0, 1, 1_000_000, NOW // 1000, 2**63 - 1, 2**63, 2**64 - 1]) | st.integers(NOW, NOW + DAY)
trace_ids = st.sampled_from([b"", bytes(16)]) | st.binary(min_size=16, max_size=16)
span_ids = st.sampled_from([b"", bytes(8)]) | st.binary(min_size=8, max_size=8)
temporalities = st.integers(0, 2)


def several(strategy, most=3):
    return st.lists(strategy, max_size=most)


scalars = st.one_of(
    st.builds(AnyValue),
    st.builds(AnyValue, string_value=texts),
    st.builds(AnyValue, bool_value=st.booleans()),
    st.builds(AnyValue, int_value=ints),
    st.builds(AnyValue, double_value=reals),
    st.builds(AnyValue, bytes_value=st.binary(max_size=9)),
)
flat = scalars | st.builds(
    AnyValue,
    array_value=st.builds(ArrayValue, values=several(st.builds(AnyValue, string_value=texts))),
)


def pairs(value):
    return st.lists(st.builds(KeyValue, key=texts, value=value), max_size=4, unique_by=lambda pair: pair.key)


values = flat | st.recursive(
    scalars,
    lambda value: (
        st.builds(AnyValue, array_value=st.builds(ArrayValue, values=several(value)))
        | st.builds(AnyValue, kvlist_value=st.builds(KeyValueList, values=pairs(value)))
    ),
    max_leaves=8,
)
attributes = pairs(flat) | pairs(values)

services = st.builds(
    lambda name: [KeyValue(key="service.name", value=AnyValue(string_value=name))],
    st.sampled_from(["rag-api", "vllm"]),
)
resources = st.builds(Resource, attributes=attributes | services)
scopes = st.builds(
    InstrumentationScope,
    name=texts,
    version=texts,
    attributes=attributes,
    dropped_attributes_count=uint32s,
)
events = st.builds(Span.Event, time_unix_nano=times, name=texts, attributes=attributes)
links = st.builds(Span.Link, trace_id=trace_ids, span_id=span_ids, trace_state=texts, attributes=attributes)
spans = st.builds(
    Span,
    trace_id=trace_ids,
    span_id=span_ids,
    trace_state=texts,
    parent_span_id=span_ids,
    flags=uint32s,
    name=texts,
    kind=st.integers(0, 5) | int32s,
    start_time_unix_nano=times,
    end_time_unix_nano=times,
    attributes=attributes,
    events=several(events, 2),
    links=several(links, 2),
    status=st.builds(Status, message=texts, code=st.integers(0, 2)),
)
trace_requests = st.builds(
    ExportTraceServiceRequest,
    resource_spans=several(
        st.builds(
            ResourceSpans,
            resource=resources,
            scope_spans=several(st.builds(ScopeSpans, scope=scopes, spans=several(spans)), 2),
        ),
        2,
    ),
)

log_records = st.builds(
    LogRecord,
    time_unix_nano=times,
    observed_time_unix_nano=times,
    severity_number=st.integers(0, 24) | int32s,
    severity_text=texts,
    body=values,
    attributes=attributes,
    flags=uint32s,
    trace_id=trace_ids,
    span_id=span_ids,
    event_name=texts,
)
log_requests = st.builds(
    ExportLogsServiceRequest,
    resource_logs=several(
        st.builds(
            ResourceLogs,
            resource=resources,
            schema_url=texts,
            scope_logs=several(
                st.builds(ScopeLogs, scope=scopes, schema_url=texts, log_records=several(log_records)), 2
            ),
        ),
        2,
    ),
)


def points(kind, **fields):
    return several(
        st.builds(
            kind,
            attributes=attributes,
            start_time_unix_nano=times,
            time_unix_nano=times,
            flags=uint32s,
            **fields,
        )
    )


def number(kind, **fields):
    return (
        st.builds(kind, **fields) | st.builds(kind, as_double=reals, **fields) | st.builds(kind, as_int=ints, **fields)
    )


exemplars = several(
    number(
        Exemplar,
        filtered_attributes=attributes,
        time_unix_nano=times,
        span_id=span_ids,
        trace_id=trace_ids,
    ),
    2,
)
numbers = several(
    number(
        NumberDataPoint,
        attributes=attributes,
        start_time_unix_nano=times,
        time_unix_nano=times,
        flags=uint32s,
        exemplars=exemplars,
    )
)
totals = {"count": counts, "sum": reals}
ranges = {"min": reals, "max": reals, "exemplars": exemplars}
buckets = st.builds(ExponentialHistogramDataPoint.Buckets, offset=int32s, bucket_counts=several(counts))
data = st.one_of(
    st.fixed_dictionaries({"gauge": st.builds(Gauge, data_points=numbers)}),
    st.fixed_dictionaries(
        {
            "sum": st.builds(
                Sum,
                data_points=numbers,
                aggregation_temporality=temporalities,
                is_monotonic=st.booleans(),
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "histogram": st.builds(
                Histogram,
                aggregation_temporality=temporalities,
                data_points=points(
                    HistogramDataPoint,
                    bucket_counts=several(counts),
                    explicit_bounds=several(reals),
                    **totals,
                    **ranges,
                )
                | points(HistogramDataPoint, count=counts),
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "exponential_histogram": st.builds(
                ExponentialHistogram,
                aggregation_temporality=temporalities,
                data_points=points(
                    ExponentialHistogramDataPoint,
                    scale=int32s,
                    zero_count=counts,
                    positive=buckets,
                    negative=buckets,
                    **totals,
                    **ranges,
                ),
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "summary": st.builds(
                Summary,
                data_points=points(
                    SummaryDataPoint,
                    quantile_values=several(st.builds(SummaryDataPoint.ValueAtQuantile, quantile=reals, value=reals)),
                    **totals,
                ),
            )
        }
    ),
    st.just({}),
)
metrics = st.builds(
    lambda name, description, unit, kind: Metric(name=name, description=description, unit=unit, **kind),
    texts,
    texts,
    texts,
    data,
)
metric_requests = st.builds(
    ExportMetricsServiceRequest,
    resource_metrics=several(
        st.builds(
            ResourceMetrics,
            resource=resources,
            schema_url=texts,
            scope_metrics=several(st.builds(ScopeMetrics, scope=scopes, schema_url=texts, metrics=several(metrics)), 2),
        ),
        2,
    ),
)


def payloads(requests):
    """A few serialized requests, to be loaded together."""
    return st.lists(requests.map(lambda request: request.SerializeToString()), min_size=1, max_size=3)
