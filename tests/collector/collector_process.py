"""`python -m collector` as a process of its own, on ports that the system chooses."""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from correlator.model.records import Signal
from tests.collector.spooling import spooled
from tests.collector.telemetry import span, spans

PATIENCE_S = 20.0
QUIET = {"gpu": {"nvml": False}}
"""Nothing but what a test sends."""


@dataclass
class Running:
    """A collector that has said that it is ready."""

    process: subprocess.Popen[bytes]
    said: dict[str, Any]
    log: Path
    client: httpx.Client

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.said['otlp_grpc_port']}"

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.said['otlp_http_port']}"

    def post(self, payload: bytes, path: str = "/v1/traces", **headers: str) -> httpx.Response:
        content_type = {"Content-Type": "application/x-protobuf"}
        return self.client.post(self.http + path, content=payload, headers=content_type | headers)

    def metrics(self) -> dict[str, float]:
        """Its own `/metrics` by name, with label values in braces."""
        page = self.client.get(f"http://127.0.0.1:{self.said['metrics_port']}/metrics").text
        samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
        return {s.name + (f"{{{','.join(s.labels.values())}}}" if s.labels else ""): s.value for s in samples}

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


def command(data: Path, config: Mapping[str, Any] | None = None, *flags: str) -> list[str]:
    """How a collector is started, on ports of its own unless flags say otherwise."""
    path = data / "tollens.yaml"
    data.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump({"collector": QUIET | dict(config or {})}))
    ports = ["--otlp-grpc-port", "0", "--otlp-http-port", "0", "--metrics-port", "0"]
    return [sys.executable, "-m", "collector", "--config", str(path), "--data", str(data), *ports, *flags]


@contextmanager
def collector(data: Path, config: Mapping[str, Any] | None = None, *flags: str) -> Iterator[Running]:
    """A running collector with its spool in `data`, killed at the end if it still runs."""
    arguments = command(data, config, *flags)
    with (data / "log").open("ab") as log:
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log)
    with process, httpx.Client(verify=False, timeout=PATIENCE_S) as client:
        try:
            assert process.stdout
            told = select.poll()  # not select(): descriptors of a long test run go beyond 1024
            told.register(process.stdout, select.POLLIN)
            ready = told.poll(PATIENCE_S * 1000)
            line = process.stdout.readline() if ready else b""
            assert line, f"it did not get ready: {(data / 'log').read_text()}"
            yield Running(process, json.loads(line), data / "log", client)
        finally:
            process.kill()


def refused(data: Path, config: Mapping[str, Any] | None = None, *flags: str) -> str:
    """What a collector says that cannot start, with exit code 2 and nothing on standard output."""
    done = subprocess.run(command(data, config, *flags), capture_output=True, timeout=PATIENCE_S, check=False)
    assert (2, b"") == (done.returncode, done.stdout)
    return done.stderr.decode()


def request(number: int, padding: int = 0) -> bytes:
    """A request of one span, known by its number, with so many bytes that say nothing."""
    return spans(span(name=f"{number}", span_id=(number + 1).to_bytes(8), trace_state="x" * padding))


def names(data: Path) -> list[str]:
    """The names of all spans in the spool of `data`, in order."""
    return [
        name for signal_, payload in spooled(data / "spool") if signal_ is Signal.TRACES for name in inside(payload)
    ]


def inside(payload: bytes) -> list[str]:
    """The names of the spans of a request."""
    found = ExportTraceServiceRequest.FromString(payload).resource_spans
    return [each.name for resource in found for scope in resource.scope_spans for each in scope.spans]
