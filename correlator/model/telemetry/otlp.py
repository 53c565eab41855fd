"""The three OTLP exporters of the OpenTelemetry SDK for one endpoint, by HTTP or gRPC as its scheme says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk._logs.export import LogRecordExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.trace.export import SpanExporter

TIMEOUT_S = 5.0
"""For one export, its retries included."""


@dataclass(frozen=True, slots=True)
class Exporters:
    """One exporter a signal."""

    spans: SpanExporter
    logs: LogRecordExporter
    metrics: MetricExporter


def exporters(endpoint: str, headers: Sequence[tuple[str, str]], timeout_s: float = TIMEOUT_S) -> Exporters:
    """Exporters to `http(s)://host:port[/path]`, where `/v1/<signal>` is added, or to `grpc(s)://host:port`."""
    return _grpc(endpoint, headers, timeout_s) if endpoint.startswith("grpc") else _http(endpoint, headers, timeout_s)


def _http(endpoint: str, headers: Sequence[tuple[str, str]], timeout_s: float) -> Exporters:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    told: dict[str, Any] = {"headers": dict(headers), "timeout": timeout_s, "compression": Compression.Gzip}
    return Exporters(
        OTLPSpanExporter(f"{endpoint}/v1/traces", **told),
        OTLPLogExporter(f"{endpoint}/v1/logs", **told),
        OTLPMetricExporter(f"{endpoint}/v1/metrics", **told),
    )


def _grpc(endpoint: str, headers: Sequence[tuple[str, str]], timeout_s: float) -> Exporters:
    from grpc import Compression
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    scheme, _, address = endpoint.partition("://")
    told: dict[str, Any] = {
        "endpoint": address,
        "insecure": scheme == "grpc",
        "headers": tuple((name.lower(), value) for name, value in headers),
        "timeout": timeout_s,
        "compression": Compression.Gzip,
    }
    return Exporters(OTLPSpanExporter(**told), OTLPLogExporter(**told), OTLPMetricExporter(**told))
