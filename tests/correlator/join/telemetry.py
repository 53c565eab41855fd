"""Small OTLP requests, and what the join makes of them: times are seconds after T0."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint
from opentelemetry.proto.trace.v1 import trace_pb2 as pb

from correlator.join.build import Joined, build
from correlator.model.records import Batch, Signal
from correlator.store import Store
from tests.correlator.store.support import emptied

T0 = 1_796_000_000 * 10**9
Value = str | bool | int | float
SERVER, CLIENT, INTERNAL = "SERVER", "CLIENT", "INTERNAL"
STALE = 1
"""The flag of a data point that says: no recorded value."""


def at(seconds: float) -> int:
    return T0 + round(seconds * 1e9)


@dataclass(frozen=True, kw_only=True)
class Span:
    """A span from `start` to `end`; its id and its parent's are any short text."""

    id: str
    start: float
    end: float
    parent: str = ""
    trace: str = "t"
    name: str = "step"
    kind: str = INTERNAL
    service: str = "rag"
    failed: bool = False
    message: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict)


def chat(**fields: object) -> Span:
    """A client's call of a model."""
    return _with({"gen_ai.operation.name": "chat"}, {"name": "chat m", "kind": CLIENT} | fields)


def served(**fields: object) -> Span:
    """The serving engine's side of a call, as vLLM reports it."""
    return _with({}, {"name": "llm_request", "kind": SERVER, "service": "vllm"} | fields)


def retrieval(**fields: object) -> Span:
    return _with({"db.system.name": "qdrant"}, {"name": "qdrant.query_points", "kind": CLIENT} | fields)


def root(**fields: object) -> Span:
    return Span(**({"id": "root", "name": "POST /v1/answer", "kind": SERVER} | fields))  # type: ignore[arg-type]


def _with(attributes: dict[str, Value], fields: dict[str, object]) -> Span:
    given = fields.pop("attributes", {})
    return Span(**fields, attributes={**attributes, **given})  # type: ignore


def request(trace: str, start: float, seconds: float, *, failed: bool = False, **attributes: Value) -> list[Span]:
    """A request of one root span."""
    return [root(trace=trace, start=start, end=start + seconds, failed=failed, attributes=attributes)]


def traces(spans: Iterable[Span]) -> Batch:
    found = ExportTraceServiceRequest()
    scopes: dict[str, object] = {}
    for span in spans:
        if span.service not in scopes:
            resource = found.resource_spans.add()
            resource.resource.attributes.extend(_attributes({"service.name": span.service}))
            scopes[span.service] = resource.scope_spans.add()
        scopes[span.service].spans.append(_span(span))  # type: ignore[attr-defined]
    return Batch(Signal.TRACES, found.SerializeToString())


def _span(span: Span) -> pb.Span:
    code = pb.Status.STATUS_CODE_ERROR if span.failed else pb.Status.STATUS_CODE_UNSET
    return pb.Span(
        trace_id=_id(span.trace, 16),
        span_id=_id(span.id, 8),
        parent_span_id=_id(span.parent, 8) if span.parent else b"",
        name=span.name,
        kind=pb.Span.SpanKind.Value(f"SPAN_KIND_{span.kind}"),
        start_time_unix_nano=at(span.start),
        end_time_unix_nano=at(span.end),
        attributes=_attributes(span.attributes),
        status=pb.Status(code=code, message=span.message),
    )


def _id(text: str, size: int) -> bytes:
    assert len(text) <= size
    return text.encode().rjust(size, b"\1")


def _attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_value(value)) for key, value in values.items()]


def _value(value: Value) -> AnyValue:
    kinds = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}
    return AnyValue(**{kinds[type(value)]: value})  # type: ignore[arg-type]


Points = Iterable[tuple[float, float]]


def metrics(*found: Metric, service: str = "vllm", instance: str = "") -> Batch:
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    resource.resource.attributes.extend(_attributes({"service.name": service, "service.instance.id": instance}))
    resource.scope_metrics.add().metrics.extend(found)
    return Batch(Signal.METRICS, request.SerializeToString())


def gauge(name: str, points: Points, stale: Sequence[float] = (), **attributes: Value) -> Metric:
    metric = Metric(name=name)
    for time, value in points:
        flags = STALE if time in stale else 0
        point = NumberDataPoint(time_unix_nano=at(time), as_double=value, flags=flags)
        point.attributes.extend(_attributes(attributes))
        metric.gauge.data_points.append(point)
    return metric


def counter(name: str, points: Points, delta: bool = False, every: float = 0, **attributes: Value) -> Metric:
    """A monotonic sum; delta points begin `every` seconds before their time where that is given."""
    metric = Metric(name=name)
    metric.sum.is_monotonic, metric.sum.aggregation_temporality = True, 1 if delta else 2
    for time, value in points:
        began = at(time - every) if every else 0
        point = NumberDataPoint(time_unix_nano=at(time), start_time_unix_nano=began, as_double=value)
        point.attributes.extend(_attributes(attributes))
        metric.sum.data_points.append(point)
    return metric


Distribution = Iterable[tuple[float, int, float]]


def histogram(name: str, points: Distribution, delta: bool = False, **attributes: Value) -> Metric:
    """A histogram of one bucket; points are (time, count, sum)."""
    metric = Metric(name=name)
    metric.histogram.aggregation_temporality = 1 if delta else 2
    for time, count, total in points:
        point = metric.histogram.data_points.add(time_unix_nano=at(time), count=count, sum=total)
        point.bucket_counts.append(count)
        point.attributes.extend(_attributes(attributes))
    return metric


def exponential(name: str, points: Distribution) -> Metric:
    metric = Metric(name=name)
    metric.exponential_histogram.aggregation_temporality = 2
    for time, count, total in points:
        metric.exponential_histogram.data_points.add(time_unix_nano=at(time), count=count, sum=total)
    return metric


def summary(name: str, points: Distribution) -> Metric:
    metric = Metric(name=name)
    for time, count, total in points:
        metric.summary.data_points.add(time_unix_nano=at(time), count=count, sum=total)
    return metric


def happening(time: float, name: str, service: str = "vllm", **attributes: Value) -> Batch:
    """A log record that a reader recognised."""
    found = ExportLogsServiceRequest()
    resource = found.resource_logs.add()
    resource.resource.attributes.extend(_attributes({"service.name": service}))
    record = resource.scope_logs.add().log_records.add(time_unix_nano=at(time), event_name=f"tollens.{name}")
    record.attributes.extend(_attributes({key.replace("__", "."): value for key, value in attributes.items()}))
    return Batch(Signal.LOGS, found.SerializeToString())


def join(store: Store, *batches: Batch, limit: int | None = None) -> Joined:
    """What the join makes of these requests alone."""
    report = emptied(store).load(batches)
    assert () == report.problems
    return build(store) if limit is None else build(store, traces=limit)
