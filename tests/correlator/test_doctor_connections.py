"""`tollens doctor` says what ties GPUs to what serves on them, from a real store and from a service that answers."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from correlator.doctor_checks import Check, State
from correlator.doctor_connections import connected
from correlator.settings import ApiSettings, JoinSettings, Settings
from correlator.store import Store
from tests.correlator.join.gpu_telemetry import load, sampled, serving

REQUESTS = [(f"r{i}", 3.0 * i, 3.0 * i + 2.5) for i in range(3)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which two engines serve, two machines have GPUs, and only one of each belong together."""
    folder = tmp_path_factory.mktemp("data")
    with Store.open(folder / "store") as store:
        store.load(
            [
                serving(REQUESTS, host__name="gpu-7"),
                serving([("s", 0, 1)], service="sglang", rack="r9"),
                sampled(range(9), lambda t: load(0.5), host__name="gpu-7", hw__id="GPU-a"),
                sampled(range(9), lambda t: load(0.5), host__name="gpu-8", hw__id="GPU-b", rack="r9"),
            ]
        )
    return folder


def test_each_connection_is_told_with_its_reason(stored: Path) -> None:
    """What is tied, what serves without a GPU, and whom nobody uses; only the first is well."""
    assert [
        Check("connection", State.OK, "GPUs GPU-a serve vllm gpu-7: tied by host.name (gpu-7)"),
        Check(
            "connection",
            State.WARN,
            "no GPU is tied to sglang: GPUs were seen on gpu-7, gpu-8, and it does not name its machine, pod or GPU",
        ),
        Check(
            "connection",
            State.WARN,
            "GPUs GPU-b serve nobody that is seen here: nothing that serves names gpu-8, their pod or them",
        ),
    ] == list(connected(Settings(data=stored), running=False))


def test_an_attribute_of_ones_own_connects(stored: Path) -> None:
    """With `join.connect` in the settings another attribute ties what was not tied."""
    told = Settings(data=stored, join=JoinSettings(connect=(("rack",), ("host.name",))))
    texts = [check.text for check in connected(told, running=False)]
    assert "GPUs GPU-b serve sglang: tied by rack (r9)" in texts and len(texts) == 2


def test_without_a_store_or_gpus_nothing_is_called_well(tmp_path: Path) -> None:
    """No store, and a store without GPU metrics: the part is off and says so."""
    told = Settings(data=tmp_path)
    assert [Check("connections", State.OFF, "there is no store yet")] == list(connected(told, running=False))
    with Store.open(tmp_path / "store") as store:
        store.load([serving(REQUESTS)])
    reason = "no GPU metrics in the last hour: requests have no GPU values"
    assert [Check("connections", State.OFF, reason)] == list(connected(told, running=False))


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[Settings]:
    """A service that answers with this object."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(request.param if self.path == "/api/v1/connections" else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Settings(api=ApiSettings(port=server.server_port))
    server.shutdown()
    server.server_close()
    thread.join()


ONE = {"gpus": ["GPU-a"], "serves": "vllm", "tied_by": "host.name (gpu-7)", "reason": ""}
IDLE = {"gpus": ["GPU-b"], "serves": None, "tied_by": None, "reason": "nothing that serves names gpu-8"}


@pytest.mark.parametrize("service", [{"connections": [ONE, IDLE]}], indirect=True, ids=["two"])
def test_a_running_service_is_asked(service: Settings) -> None:
    """The store belongs to the service while it runs: it tells what connects."""
    assert [
        Check("connection", State.OK, "GPUs GPU-a serve vllm: tied by host.name (gpu-7)"),
        Check("connection", State.WARN, "GPUs GPU-b serve nobody that is seen here: nothing that serves names gpu-8"),
    ] == list(connected(service, running=True))


@pytest.mark.parametrize("service", [{"detail": "no token"}], indirect=True, ids=["refused"])
def test_an_answer_of_another_kind_is_not_taken_for_none(service: Settings) -> None:
    """A service that refuses to tell leaves it unknown."""
    assert [State.WARN] == [check.state for check in connected(service, running=True)]


@pytest.mark.parametrize("service", [{"connections": [ONE] * 60}], indirect=True, ids=["many"])
def test_what_is_not_shown_is_counted(service: Settings) -> None:
    """A large cluster does not fill the terminal, and the rest is not passed over in silence."""
    checks = list(connected(service, running=True))
    assert (51, "10 more are not shown") == (len(checks), checks[-1].text)
