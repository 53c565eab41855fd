"""`tollens doctor` against real ports, a real scrape target and a settings file."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
from rich.console import Console

from correlator.doctor import Check, State, examine, report
from correlator.doctor_clock import told

PAGE = b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n"
PORTS = """
data: {data}
api: {{port: 0}}
collector:
  receivers: {{grpc_port: 0, http_port: {http}}}
  metrics: {{port: 0}}
  gpu: {{nvml: false}}
"""


def examined(config: Path) -> dict[str, Check]:
    return {check.name: check for check in examine(config, None, {})}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return written(tmp_path, PORTS.format(data=tmp_path, http=0))


def written(folder: Path, text: str) -> Path:
    path = folder / "tollens.yaml"
    path.write_text(text)
    return path


def serving(date: str) -> HTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return date

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, format: str, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def target() -> Iterator[HTTPServer]:
    server = serving("Mon, 30 Nov 2020 08:00:00 GMT")
    yield server
    server.shutdown()
    server.server_close()


def test_a_machine_without_gpu_or_targets_is_not_called_healthy(config: Path) -> None:
    """What is switched off or missing is off, never ok, and the engine was really asked."""
    checks = examined(config)
    assert {"GPU": State.OFF, "targets": State.OFF, "signals": State.OFF} == {
        name: checks[name].state for name in ("GPU", "targets", "signals")
    }
    assert State.OK is checks["engine"].state and "ClickHouse" in checks["engine"].text


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    """The port that somebody listens on is named, the others are free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        checks = examined(written(tmp_path, PORTS.format(data=tmp_path, http=port)))
    told = [check for name, check in checks.items() if name.startswith("port")]
    assert [f"port {port} (OTLP/HTTP)"] == [check.name for check in told if check.state is State.WARN]


def test_a_target_whose_clock_is_wrong_is_told(config: Path, target: HTTPServer) -> None:
    """It answers, but six years off: what it sends would be joined wrongly."""
    url = f"127.0.0.1:{target.server_port}"
    text = config.read_text() + f"  scrape: {{jobs: [{{name: engine, targets: ['{url}', '127.0.0.1:1']}}]}}\n"
    checks = examined(written(config.parent, text))
    skewed, dead = (checks[f"target engine http://{at}/metrics"] for at in (url, "127.0.0.1:1"))
    assert State.WARN is skewed.state and "clock" in skewed.text
    assert State.FAIL is dead.state


def test_settings_that_cannot_be_read_end_it_with_one(tmp_path: Path) -> None:
    """The fault is named with its file, nothing else is checked, and the exit code says so."""
    out = StringIO()
    code = report(examine(written(tmp_path, "api: {prot: 1}"), None, {}), Console(file=out, width=200))
    assert 1 == code
    assert out.getvalue().startswith("fail") and "tollens.yaml" in out.getvalue() and "api.prot" in out.getvalue()
    assert 1 == len(out.getvalue().splitlines())


def test_a_target_whose_secret_is_missing_is_told(config: Path) -> None:
    """Who is told of incidents is checked without telling anybody; no target is off, not ok."""
    assert State.OFF is examined(config)["exporters"].state
    text = config.read_text() + "exporters: {targets: [{exporter: slack, name: ops, secret_file: /nowhere}]}\n"
    check = examined(written(config.parent, text))["exporters"]
    assert State.FAIL is check.state and "secret_file /nowhere: cannot be read" in check.text


def test_the_clock_is_asked_and_what_is_not_known_is_not_well(config: Path) -> None:
    """The kernel's own word; unsynchronised is a warning, and no answer is no good news."""
    assert "clock" in examined(config)
    assert [State.OK, State.OK, State.WARN, State.OFF, State.OFF] == [told(s).state for s in (0, 4, 5, -1, None)]
