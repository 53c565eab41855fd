"""What the collector tells of itself cannot come back to make more of itself."""

import logging
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client import CollectorRegistry

from collector.service import _refuse_own_receiver
from collector.settings import load
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from correlator.model.telemetry import TelemetrySettings, start
from tests.collector.collector_process import PATIENCE_S, QUIET, collector, command, names, request
from tests.collector.spooling import spooled, wait_until
from tests.otlp_backend import Backend, running

BURST = 50
EXPORTS = 4
"""Of spans, two seconds apart: the time that this test takes."""
A_TURN = 24
"""Most spans of two seconds: per signal two segments, a forward and a POST each; twice that, for slow machines."""


def configured(folder: Path, endpoint: str, **parts: Any) -> str:
    path = folder / "own.yaml"
    told = {"telemetry": {"endpoint": endpoint, "interval_s": 1}, "collector": QUIET | parts}
    path.write_text(yaml.safe_dump(told))
    return str(path)


def sizes(backend: Backend) -> list[int]:
    """Spans in each export."""
    found = [r for path, r, _ in list(backend.got) if path == "/v1/traces"]
    return [sum(len(s.spans) for one in r.resource_spans for s in one.scope_spans) for r in found]


def test_fed_back_it_does_not_grow(tmp_path: Path) -> None:
    """All own telemetry is sent into the collector again, on top of a burst of requests: no more spans than before."""
    with running() as backend, running() as away:
        config = configured(tmp_path, backend.url, forward={"endpoint": away.url})
        with collector(tmp_path, None, "--config", config) as process, httpx.Client() as client:

            def again(path: str, body: bytes) -> None:
                headers = {"Content-Type": "application/x-protobuf"}
                client.post(process.http + path, content=body, headers=headers)

            backend.passed_on = again
            assert {200} == {process.post(request(number)).status_code for number in range(BURST)}
            wait_until(lambda: len(sizes(backend)) >= EXPORTS)
            backend.passed_on = lambda path, body: None
            assert 0 == process.stop()
    assert {"forward", "POST"} == {span.name for span in backend.spans()}
    assert max(sizes(backend)) <= A_TURN
    assert "tollens_spool_bytes" in backend.metrics()
    assert "collecting into" in backend.logs()[0].body.string_value


def test_received_requests_make_no_spans(tmp_path: Path) -> None:
    """With nothing to forward, a burst of requests makes none at all."""
    with running() as backend:
        with collector(tmp_path, None, "--config", configured(tmp_path, backend.url)) as process:
            assert {200} == {process.post(request(number)).status_code for number in range(BURST)}
            assert 0 == process.stop()
        assert [] == backend.spans()
        assert backend.metrics()


@pytest.mark.parametrize("scheme", ["http", "grpc"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_its_own_receiver_is_refused(tmp_path: Path, scheme: str, host: str) -> None:
    """Under any of its names, by either protocol."""
    path = tmp_path / "own.yaml"
    path.write_text(f"telemetry: {{endpoint: '{scheme}://{host}:4318'}}")
    with pytest.raises(ConfigError, match=r"telemetry\.endpoint .*: that is this collector's own receiver"):
        _refuse_own_receiver(load(path))


def test_a_collector_that_would_tell_itself_does_not_start(tmp_path: Path) -> None:
    """Exit code 2 with the reason; ports count as the flags say."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config = configured(tmp_path, f"http://localhost:{port}")
    flags = ("--otlp-http-port", str(port), "--config", config)
    done = subprocess.run(command(tmp_path, None, *flags), capture_output=True, timeout=PATIENCE_S, check=False)
    assert (2, b"") == (done.returncode, done.stdout)
    assert b"own receiver" in done.stderr


def test_a_dead_backend_slows_nothing(tmp_path: Path) -> None:
    """Nobody takes what it tells: requests are acknowledged all the same, and a stop does not wait for long."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with collector(tmp_path, None, "--config", configured(tmp_path, url)) as process:
            assert {200} == {process.post(request(number)).status_code for number in range(20)}
            assert 0 == process.stop()


def test_over_grpc_all_three_signals_arrive(tmp_path: Path) -> None:
    """What a process tells goes to a collector's gRPC receiver; the calls that carry it are no spans themselves."""
    with collector(tmp_path) as process:
        telemetry = start(TelemetrySettings(endpoint=f"grpc://{process.grpc}"), "test", CollectorRegistry())
        with telemetry.spans("mine") as told:
            told["n"] = 1
        logging.getLogger("collector.x").warning("mine")
        telemetry.close()
        assert 0 == process.stop()
    ours = (b"tollens_telemetry", b"mine")
    assert set(Signal) == {s for s, payload in spooled(tmp_path / "spool") if any(word in payload for word in ours)}
    assert ["mine"] == names(tmp_path)
