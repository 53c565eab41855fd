"""GPU telemetry by the doors it really comes through: our samplers' requests, and scraped pages of dcgm-exporter."""

from collections.abc import Callable, Iterable, Mapping

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.gpu.otlp import Reading, metrics_request
from collector.scraping.fetch import Body
from collector.scraping.page import exposed
from correlator.model.records import Batch, Signal
from tests.correlator.join.telemetry import at

Served = tuple[str, float, float]
"""Trace, and from when to when the engine was at it."""
GIB = 2**30


def attributes(values: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in values.items()]


def serving(requests: Iterable[Served], service: str = "vllm", **resource: str) -> Batch:
    """The engine's spans of these requests; `__` in a resource attribute's name stands for a dot."""
    named = {key.replace("__", "."): value for key, value in resource.items()}
    return _spans(requests, {"service.name": service, **named}, "llm_request", Span.SPAN_KIND_SERVER)


def calling(requests: Iterable[Served], **resource: str) -> Batch:
    """The client's calls of a model, as all that was seen of them."""
    return _spans(requests, {"service.name": "app", **resource}, "chat m", Span.SPAN_KIND_CLIENT)


def _spans(requests: Iterable[Served], resource: Mapping[str, str], name: str, kind: Span.SpanKind.ValueType) -> Batch:
    found = ExportTraceServiceRequest()
    one = found.resource_spans.add()
    one.resource.attributes.extend(attributes(resource))
    scope = one.scope_spans.add()
    for trace, start, end in requests:
        scope.spans.add(
            trace_id=trace.encode().rjust(16, b"\1"),
            span_id=f"{name[0]}{trace}".encode().rjust(8, b"\1")[-8:],
            name=name,
            kind=kind,
            start_time_unix_nano=at(start),
            end_time_unix_nano=at(end),
            attributes=attributes({"gen_ai.operation.name": "chat"}),
        )
    return Batch(Signal.TRACES, found.SerializeToString())


def sampled(times: Iterable[float], readings: Callable[[float], Iterable[Reading]], **resource: str | int) -> Batch:
    """What our sampler sends of one GPU, with the same resource attributes."""
    named = {key.replace("__", "."): value for key, value in resource.items()}
    return Batch(Signal.METRICS, metrics_request("gpu_nvml", [(named, at(t), readings(t)) for t in times]))


def load(share: float, used: float = 40 * GIB) -> list[Reading]:
    """Load and memory of one GPU at one time."""
    return [
        Reading("hw.gpu.utilization", "1", share, attributes={"hw.gpu.task": "general"}),
        Reading("hw.gpu.memory.usage", "By", int(used), "updowncounter"),
    ]


def page(time: float, text: str, instance: str = "10.1.0.9:9400") -> Batch:
    """A page of dcgm-exporter as our scraper takes it."""
    found = exposed(Body(text.encode(), openmetrics=False), at(time), 10_000)
    assert not found.faults, found.fault
    request = ExportMetricsServiceRequest()
    one = request.resource_metrics.add()
    one.resource.attributes.extend(attributes({"service.name": "dcgm-exporter", "service.instance.id": instance}))
    one.scope_metrics.add().metrics.extend(found.metrics)
    return Batch(Signal.METRICS, request.SerializeToString())
