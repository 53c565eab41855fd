"""Real OpenTelemetry SDKs, Python and Node, send spans, metrics and logs to both receivers."""

import json
import logging
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from collector.sink import Full
from correlator.model.records import Signal
from tests.collector.receiving import Kept, Receiver, kept_at_once, receiver
from tests.collector.telemetry import KINDS, NOW

RESOURCE = Resource({"service.name": "shop"})
NODE_PACKAGES = (
    "@opentelemetry/api@1.9.1",
    "@opentelemetry/sdk-trace-base@2.12.1",
    "@opentelemetry/exporter-trace-otlp-http@0.223.1",
    "@opentelemetry/exporter-trace-otlp-proto@0.223.1",
    "@opentelemetry/exporter-trace-otlp-grpc@0.223.1",
)


@pytest.fixture
def running() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


def exporters(running: Receiver, signal: Signal) -> list[Any]:
    """gRPC and HTTP exporters of a signal, with and without gzip."""
    over_grpc = {Signal.TRACES: GrpcSpans, Signal.METRICS: GrpcMetrics, Signal.LOGS: GrpcLogs}[signal]
    over_http = {Signal.TRACES: HttpSpans, Signal.METRICS: HttpMetrics, Signal.LOGS: HttpLogs}[signal]
    address, url = f"localhost:{running.grpc.port}", running.url(f"/v1/{signal}")
    return [
        over_grpc(endpoint=address, insecure=True),
        over_grpc(endpoint=address, insecure=True, compression=grpc.Compression.Gzip),
        over_http(endpoint=url, compression=Compression.NoCompression),
        over_http(endpoint=url, compression=Compression.Gzip),
    ]


def received(running: Receiver, signal: Signal) -> list[Any]:
    """The records of each request that reached the sink."""
    found = [KINDS[signal].FromString(payload) for payload in running.sink.payloads(signal)]
    return [
        [record for resource in _first(request) for scope in _last(resource) for record in _last(scope)]
        for request in found
    ]


def _first(message: Any) -> Any:
    return getattr(message, message.DESCRIPTOR.fields[0].name)


def _last(message: Any) -> Any:
    return getattr(message, message.DESCRIPTOR.fields_by_number[2].name)


def test_spans_of_the_python_sdk_arrive(running: Receiver) -> None:
    """Ids, times, attributes and events of spans are those that the SDK made."""
    for exporter in exporters(running, Signal.TRACES):
        provider = TracerProvider(resource=RESOURCE)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        with provider.get_tracer("test").start_as_current_span("chat", attributes={"a": 1}) as span:
            span.add_event("first_token")
        provider.shutdown()
        ((found,),) = received(running, Signal.TRACES)
        context = span.get_span_context()
        ids = (int.from_bytes(found.trace_id), int.from_bytes(found.span_id))
        assert (context.trace_id, context.span_id) == ids
        assert (span.start_time, span.end_time) == (found.start_time_unix_nano, found.end_time_unix_nano)
        assert ("chat", "first_token", 1) == (
            found.name,
            found.events[0].name,
            found.attributes[0].value.int_value,
        )
        running.sink.requests.clear()


def test_metrics_of_the_python_sdk_arrive(running: Receiver) -> None:
    """Sums and histograms arrive with their values."""
    for exporter in exporters(running, Signal.METRICS):
        provider = MeterProvider([PeriodicExportingMetricReader(exporter)], resource=RESOURCE)
        meter = provider.get_meter("test")
        meter.create_counter("requests").add(3)
        meter.create_histogram("latency").record(0.5)
        provider.shutdown()
        ((requests, latency),) = received(running, Signal.METRICS)
        assert ("requests", 3) == (requests.name, requests.sum.data_points[0].as_int)
        assert ("latency", 0.5) == (latency.name, latency.histogram.data_points[0].sum)
        running.sink.requests.clear()


def test_logs_of_the_python_sdk_arrive(running: Receiver) -> None:
    """Log records arrive with body, time and severity."""
    for exporter in exporters(running, Signal.LOGS):
        provider = LoggerProvider(resource=RESOURCE)
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        record = LogRecord(timestamp=NOW, severity_number=SeverityNumber.WARN, body="preempted")
        provider.get_logger("test").emit(record)
        provider.shutdown()
        ((found,),) = received(running, Signal.LOGS)
        assert (NOW, 13, "preempted") == (found.time_unix_nano, found.severity_number, found.body.string_value)
        running.sink.requests.clear()


@pytest.mark.parametrize("which", [0, 2])
def test_the_python_sdk_tries_again_when_there_is_no_room(which: int, caplog: pytest.LogCaptureFixture) -> None:
    """A refusal with a time to try again loses no span of a real exporter."""
    asked = []

    def full_at_first(signal: Signal, payload: bytes) -> Future[None]:
        asked.append(signal)
        if len(asked) == 1:
            raise Full("test", 1)
        return kept_at_once(signal, payload)

    caplog.set_level(logging.CRITICAL)
    with receiver(Kept(full_at_first)) as running:
        provider = TracerProvider(resource=RESOURCE)
        provider.add_span_processor(BatchSpanProcessor(exporters(running, Signal.TRACES)[which]))
        provider.get_tracer("test").start_span("kept").end()
        provider.force_flush()
        provider.shutdown()
        assert ["kept"] == [span.name for spans in received(running, Signal.TRACES) for span in spans]
        assert [Signal.TRACES] * 2 == asked


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Node SDK; skips where Node is not there or its packages cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    folder = tmp_path_factory.mktemp("node")
    install = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", *NODE_PACKAGES]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, timeout=45, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm took too long")
    if done.returncode:
        pytest.skip(f"npm: {done.stderr[-300:]!r}")
    return folder


NODE_PROGRAM = """
const { BasicTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const [kind, url, compression] = process.argv.slice(1);
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-' + kind);
const exporter = new OTLPTraceExporter({ url, compression });
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const span = provider.getTracer('test').startSpan('chat', { attributes: { a: 1 } });
span.end();
provider.shutdown().then(() => console.log(JSON.stringify(span.spanContext())));
"""


@pytest.mark.parametrize("kind", ["http", "proto", "grpc"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_spans_of_the_node_sdk_arrive(running: Receiver, node_folder: Path, kind: str, compression: str) -> None:
    """JSON, protobuf and gRPC exporters of Node deliver the span that was made."""
    port = running.grpc.port if kind == "grpc" else running.http.port
    url = f"http://127.0.0.1:{port}" + ("" if kind == "grpc" else "/v1/traces")
    command = ["node", "-e", NODE_PROGRAM, "--", kind, url, compression]
    done = subprocess.run(command, cwd=node_folder, capture_output=True, timeout=30, check=True)
    context = json.loads(done.stdout)
    ((found,),) = received(running, Signal.TRACES)
    assert (context["traceId"], context["spanId"]) == (found.trace_id.hex(), found.span_id.hex())
    assert ("chat", 1) == (found.name, found.attributes[0].value.int_value)
