"""A real OpenTelemetry Collector sends all three signals by each of its OTLP exporters and compressions."""

from collections import Counter
from pathlib import Path

import httpx
import pytest
import yaml

from correlator.model.records import Signal
from tests.collector.collector_process import Running, collector
from tests.collector.spooling import wait_until
from tests.counterparts.running import Otelcol
from tests.counterparts.traffic import arrived, send, whole

NUMBERS = range(40)


def exporting(folder: Path, kind: str, compression: str, to: Running) -> Otelcol:
    """A Collector that receives by HTTP and sends by one exporter, at once."""
    endpoint = to.grpc if kind == "otlp_grpc" else to.http
    options = {"endpoint": endpoint, "compression": compression, "tls": {"insecure": True}}
    pipeline = {"receivers": ["otlp"], "exporters": [kind]}
    config = {
        "extensions": {"health_check": {"endpoint": "${env:OTELCOL_HEALTH}"}},
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": "${env:OTELCOL_HTTP}"}}}},
        "exporters": {kind: options | {"sending_queue": {"enabled": False}, "retry_on_failure": {"enabled": False}}},
        "service": {
            "extensions": ["health_check"],
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {signal.value: pipeline for signal in Signal},
        },
    }
    path = folder / "otelcol.yaml"
    path.write_text(yaml.safe_dump(config))
    return Otelcol(path, folder)


@pytest.mark.parametrize(
    ("kind", "compression"),
    [("otlp_grpc", "none"), ("otlp_grpc", "gzip"), ("otlp_http", "none"), ("otlp_http", "gzip"), ("otlp_http", "zstd")],
)
def test_everything_arrives_once(tmp_path: Path, kind: str, compression: str) -> None:
    """Each record of each signal is in the spool, once, and the Collector was told that it is."""
    with collector(tmp_path / "tollens") as tollens, httpx.Client() as client:
        otelcol = exporting(tmp_path, kind, compression, tollens)
        with otelcol.running():
            send(client, otelcol.http, NUMBERS)
            wait_until(lambda: whole(tmp_path / "tollens", NUMBERS))
    assert {signal: Counter(NUMBERS) for signal in Signal} == arrived(tmp_path / "tollens")


def test_zstd_over_grpc_is_refused_and_never_acknowledged(tmp_path: Path) -> None:
    """What docs/live.md warns of: the gRPC library answers INTERNAL, so the sender learns that nothing was taken."""
    with collector(tmp_path / "tollens") as tollens, httpx.Client() as client:
        otelcol = exporting(tmp_path, "otlp_grpc", "zstd", tollens)
        with otelcol.running(), pytest.raises(httpx.HTTPStatusError, match="500"):
            send(client, otelcol.http, NUMBERS)
    assert {signal: Counter() for signal in Signal} == arrived(tmp_path / "tollens")
