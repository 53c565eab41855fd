"""Own telemetry: off costs nothing; on, it is bounded, tells no secret, and never waits for a dead endpoint."""

import asyncio
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pydantic import ValidationError

from correlator.model.errors import ConfigError
from correlator.model.telemetry import OwnTelemetry, TelemetrySettings, start, telemetry_settings
from correlator.model.telemetry.bounded import WAITING
from tests.otlp_backend import PATIENCE_S, Backend, running


@pytest.fixture
def backend() -> Iterator[Backend]:
    with running() as server:
        yield server


def sending(url: str, registry: CollectorRegistry | None = None, **options: Any) -> OwnTelemetry:
    return start(TelemetrySettings(endpoint=url, **options), "test", registry or CollectorRegistry())


def names(spans: Sequence[Span]) -> list[str]:
    return sorted(span.name for span in spans)


def values(span: Any) -> dict[str, object]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def test_a_span_goes_out_with_what_is_told(backend: Backend) -> None:
    """Name, attributes and parent; one in which nothing is told is not sent."""
    telemetry = sending(backend.url)
    with telemetry.spans("outer") as told:
        told["n"] = 3
        with telemetry.spans("nothing happened"):
            pass
        with telemetry.spans("inner") as inside:
            inside["n"] = 4
    telemetry.close()
    inner, outer = sorted(backend.spans(), key=lambda span: span.name)
    assert (["inner", "outer"], {"n": 3}) == ([inner.name, outer.name], values(outer))
    assert outer.span_id == inner.parent_span_id


def test_an_error_goes_out_as_its_class_only(backend: Backend) -> None:
    """What an error says may hold what is nobody's business."""
    telemetry = sending(backend.url)
    with pytest.raises(ValueError, match="hunter2"), telemetry.spans("bad"):
        raise ValueError("hunter2")
    telemetry.close()
    (span,) = backend.spans()
    assert {"error.type": "ValueError"} == values(span)
    assert "hunter2" not in str(span)


def test_requests_of_ours_are_spans_without_their_query(backend: Backend) -> None:
    """httpx is instrumented until the end; a key in a URL stays here."""
    telemetry = sending(backend.url)
    with telemetry.spans("mine") as told:
        told["n"] = 1
        httpx.get(f"{backend.url}/page?key=hunter2")
    telemetry.close()
    httpx.get(f"{backend.url}/after")
    assert ["GET", "mine"] == names(backend.spans())
    assert "hunter2" not in str(backend.spans())


async def _checked(port: int) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())


def test_grpc_clients_of_ours_are_spans_and_servers_are_not(backend: Backend) -> None:
    """A call makes one span, the client's."""
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    telemetry = sending(backend.url)
    asyncio.run(_checked(port))
    telemetry.close()
    server.stop(0).wait()
    assert ["/grpc.health.v1.Health/Check"] == names(backend.spans())


def test_what_metrics_holds_goes_out(backend: Backend) -> None:
    """Counters as sums, gauges as gauges, histograms with counts between bounds, each with its labels."""
    registry = CollectorRegistry()
    Counter("done", "Done.", ["what"], registry=registry).labels("a").inc(3)
    Gauge("held", "Held.", registry=registry).set(0.5)
    times = Histogram("took", "Took.", ["route"], buckets=(1.0, 2.0), registry=registry).labels("x")
    for seconds in (0.5, 1.5, 1.7, 9.0):
        times.observe(seconds)
    sending(backend.url, registry).close()
    found = backend.metrics()
    (done,), (held,), (took,) = (
        found["done"].sum.data_points,
        found["held"].gauge.data_points,
        found["took"].histogram.data_points,
    )
    assert (3.0, {"what": "a"}, True) == (done.as_double, values(done), found["done"].sum.is_monotonic)
    assert 0.5 == held.as_double
    assert ([1.0, 2.0], [1, 2, 1], 4, 12.7) == (took.explicit_bounds, took.bucket_counts, took.count, took.sum)
    assert {"route": "x"} == values(took)


def test_our_log_goes_out_and_no_library_s(backend: Backend) -> None:
    """With severity; of an error its class and text. What the SDK logs about its own sending stays here."""
    telemetry = sending(backend.url)
    logging.getLogger("correlator.x").warning("disk %d %% full", 90)
    logging.getLogger("opentelemetry.x").error("cannot send")
    logging.getLogger("httpx").warning("GET ...")
    telemetry.close()
    logging.getLogger("correlator.x").warning("after")
    assert [("disk 90 % full", "WARNING")] == [(r.body.string_value, r.severity_text) for r in backend.logs()]


def test_headers_come_from_a_file(backend: Backend, tmp_path: Path) -> None:
    """They go with every request, and are in no repr."""
    (tmp_path / "headers").write_text("Authorization: Bearer hunter2\n")
    telemetry = sending(backend.url, headers_file=tmp_path / "headers")
    telemetry.close()
    assert {"Bearer hunter2"} == {headers["authorization"] for _, _, headers in backend.got}
    assert "hunter2" not in repr(telemetry)


def test_a_bad_headers_file_is_refused(tmp_path: Path) -> None:
    """At the start, naming the option and not what is in the file."""
    (tmp_path / "headers").write_text("hunter2")
    with pytest.raises(ConfigError, match=r"telemetry.headers_file .*: line 1: expected `Name: value`") as error:
        sending("http://127.0.0.1:1", headers_file=tmp_path / "headers")
    assert "hunter2" not in str(error.value)


def counts(registry: CollectorRegistry, signal: str) -> dict[str, float]:
    told = [s for f in registry.collect() if f.name == "tollens_telemetry" for s in f.samples]
    return {s.labels["what"]: s.value for s in told if s.labels["signal"] == signal}


def test_what_finds_no_room_is_dropped_and_counted(backend: Backend) -> None:
    """A backend that hangs holds nobody up: beyond the bound spans are dropped; the end comes after little over 3 s."""
    backend.gate.clear()
    registry = CollectorRegistry()
    telemetry = sending(backend.url, registry)
    began = time.monotonic()
    for number in range(WAITING + 1_000):
        with telemetry.spans("one") as told:
            told["n"] = number
    assert time.monotonic() - began < 3.0
    assert 1_000 - 512 <= counts(registry, "traces")["dropped"] <= 1_000
    began = time.monotonic()
    telemetry.close()
    assert time.monotonic() - began < 4.0


def test_a_closed_port_is_counted_as_failed_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody listens: what could not be sent in 5 s is lost and counted, without a line in the log for each export."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    registry = CollectorRegistry()
    telemetry = sending(url, registry)
    with telemetry.spans("one") as told:
        told["n"] = 1
    end = time.monotonic() + PATIENCE_S
    while counts(registry, "traces")["failed"] < 1 and time.monotonic() < end:
        threading.Event().wait(0.1)
    telemetry.close()
    assert {"exported": 0, "failed": 1, "dropped": 0} == counts(registry, "traces")
    assert len([r for r in caplog.records if r.name.startswith("opentelemetry.exporter")]) <= 3


@pytest.mark.parametrize("endpoint", ["http://c:4318", "https://c/base", "grpc://c:4317", "grpcs://[::1]:4317"])
def test_endpoints(endpoint: str) -> None:
    """HTTP with or without a port, gRPC with one."""
    assert endpoint == TelemetrySettings(endpoint=endpoint + "/" * (endpoint[0] == "h")).endpoint


@pytest.mark.parametrize(
    "endpoint", ["c:4317", "ftp://c:1", "grpc://c", "http://u:p@c:1", "grpc://c:1/path", "http://"]
)
def test_wrong_endpoints(endpoint: str) -> None:
    """Anything else says what was expected, and no password."""
    with pytest.raises(ValidationError, match="expected"):
        TelemetrySettings(endpoint=endpoint)


def test_a_wrong_section_names_file_and_field() -> None:
    """As all settings do."""
    with pytest.raises(ConfigError, match=r"t\.yaml: telemetry\.endpoint: expected"):
        telemetry_settings({"telemetry": {"endpoint": "nonsense"}}, "t.yaml")
    with pytest.raises(ConfigError, match=r"t\.yaml: telemetry: expected options"):
        telemetry_settings({"telemetry": "http://x"}, "t.yaml")
    assert TelemetrySettings() == telemetry_settings({"telemetry": {"endpoint": None}}, "t.yaml")


@pytest.mark.parametrize("module", ["correlator.cli", "correlator.serve", "collector.service"])
def test_off_imports_nothing(module: str) -> None:
    """Neither process loads the SDK unless it is on."""
    code = f"import sys, {module}; print([m for m in sys.modules if m.startswith(('opentelemetry.sdk', 'wrapt'))])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "[]\n" == told.stdout


def test_nothing_global_is_set(backend: Backend) -> None:
    """A library that asks for the global providers gets none of ours."""
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

    telemetry = sending(backend.url)
    assert isinstance(get_tracer_provider(), ProxyTracerProvider)
    telemetry.close()
