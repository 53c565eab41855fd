"""`tollens up`, whole: telemetry in by OTLP, a diagnosis out of the API, processes that are killed in between."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.files import read
from correlator.model.moments import rfc3339
from correlator.model.records import Batch
from tests.recorded import paths, true_windows

CAPTURE = "s01_token_inflation"
PATIENCE_S = 120.0


@dataclass
class Up:
    """A running `tollens up`: what it announced, again each time that all of it was ready."""

    process: subprocess.Popen[str]
    announced: queue.Queue[dict[str, Any]]
    at: dict[str, Any]

    def url(self, port: str, path: str) -> str:
        return f"http://127.0.0.1:{self.at[port]}{path}"

    def api(self, path: str, **body: Any) -> httpx.Response:
        where = self.url("api_port", path)
        return httpx.post(where, json=body, timeout=PATIENCE_S) if body else httpx.get(where, timeout=PATIENCE_S)

    def again(self) -> None:
        self.at = self.announced.get(timeout=PATIENCE_S)

    def send(self, batch: Batch) -> int:
        headers = {"Content-Type": "application/x-protobuf"}
        where = self.url("otlp_http_port", f"/v1/{batch.signal}")
        return httpx.post(where, content=batch.payload, headers=headers, timeout=PATIENCE_S).status_code


def children(pid: int) -> dict[str, int]:
    """Name of the part → process id."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    commands = {int(child): Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in listed}
    return {command[command.index(b"-m") + 1].decode(): child for child, command in commands.items()}


def eventually(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    gap = threading.Event()
    while not holds():
        assert time.monotonic() < end, "it never held"
        gap.wait(0.2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("up")


@pytest.fixture(scope="module")
def up(folder: Path) -> Iterator[Up]:
    ports = [text for name in ("", "otlp-grpc-", "otlp-http-", "metrics-") for text in (f"--{name}port", "0")]
    config = folder / "tollens.yaml"
    config.write_text(f"collector: {{spool: {{folder: '{folder / 'elsewhere'}'}}}}\n")
    command = [sys.executable, "-m", "correlator", "up", "--config", str(config), "--data", str(folder), *ports]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        announced: queue.Queue[dict[str, Any]] = queue.Queue()
        assert process.stdout is not None
        lines = process.stdout
        reading = threading.Thread(target=lambda: [announced.put(json.loads(line)) for line in lines])
        reading.start()
        try:
            yield Up(process, announced, announced.get(timeout=PATIENCE_S))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
            reading.join()
            lines.close()


@pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")
def test_an_incident_sent_in_comes_out_explained_whatever_is_killed(up: Up, folder: Path) -> None:
    """Half of a recording, both processes killed, the other half: nothing is missing, and the cause is named."""
    batches = [item for item in read(paths(CAPTURE)) if isinstance(item, Batch)]
    half = len(batches) // 2
    assert {200} == {up.send(batch) for batch in batches[:half]}
    for name in ("correlator", "collector"):
        os.kill(children(up.process.pid)[name], signal.SIGKILL)
        up.again()
    assert {200} == {up.send(batch) for batch in batches[half:]}
    assert (folder / "elsewhere").is_dir()
    eventually(lambda: not list((folder / "elsewhere").glob("*-*.*")))
    windows = true_windows(CAPTURE)
    stretch = {
        name: {"start": rfc3339(window.start), "end": rfc3339(window.end)}
        for name, window in (("baseline", windows.baseline), ("incident", windows.incident))
    }
    found = up.api("/api/v1/diagnose", **stretch).json()
    assert ("input_token_inflation", "supported") == (
        found["findings"][0]["hypothesis"],
        found["findings"][0]["verdict"],
    )
    assert spans(batches) == found["coverage"]["records"]["spans"]


def spans(batches: list[Batch]) -> int:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    requests = [ExportTraceServiceRequest.FromString(b.payload) for b in batches if b.signal == "traces"]
    return sum(len(s.spans) for r in requests for resource in r.resource_spans for s in resource.scope_spans)


def test_it_says_what_it_knows_and_how_it_is(up: Up) -> None:
    """Probes, hypotheses, signals and metrics answer on the announced ports."""
    assert {"status": "ready"} == up.api("/readyz").json()
    assert "input_token_inflation" in [h["id"] for h in up.api("/api/v1/hypotheses").json()["hypotheses"]]
    assert "tollens_spool_bytes" in httpx.get(up.url("metrics_port", "/metrics")).text
    assert 404 == up.api("/api/v1/incidents/none").status_code


def test_wrong_settings_end_it_with_a_reason(tmp_path: Path) -> None:
    """An unknown key ends all of it with exit code 2 and names file and field."""
    config = tmp_path / "tollens.yaml"
    config.write_text("api: {prot: 1}\n")
    command = [sys.executable, "-m", "correlator", "up", "--config", str(config), "--data", str(tmp_path)]
    ports = ["--otlp-grpc-port", "0", "--otlp-http-port", "0", "--metrics-port", "0"]
    ended = subprocess.run([*command, *ports], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert 2 == ended.returncode
    assert "tollens.yaml" in ended.stderr and "api.prot" in ended.stderr


def test_forwarding_and_loading_one_spool_is_refused(tmp_path: Path) -> None:
    """Both would empty it: exit code 2, and what to run instead."""
    config = tmp_path / "tollens.yaml"
    config.write_text("collector: {forward: {endpoint: 'http://127.0.0.1:1'}}\n")
    command = [sys.executable, "-m", "correlator", "up", "--config", str(config), "--data", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert 2 == ended.returncode
    assert "collector.forward" in ended.stderr and "python -m collector" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's end")
def test_nothing_outlives_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    """After SIGKILL of the supervisor both parts end by themselves and the ports are free again."""
    ports = [text for name in ("", "otlp-grpc-", "otlp-http-", "metrics-") for text in (f"--{name}port", "0")]
    command = [sys.executable, "-m", "correlator", "up", "--data", str(tmp_path), *ports]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        at = json.loads(process.stdout.readline())
        parts = children(process.pid)
        process.kill()
    assert {"collector", "correlator"} == set(parts)
    eventually(lambda: all(_ended(pid) for pid in parts.values()))
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{at['api_port']}/healthz")


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
