"""A real Prometheus and Alertmanager: a rule fires, the incident is explained and told by webhook, and ends."""

import base64
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from standardwebhooks import Webhook

from collector.files import read
from correlator.model.records import Batch
from tests.collector.spooling import wait_until
from tests.counterparts.running import free_port, running
from tests.counterparts.test_prometheus_server import server
from tests.counterparts.tollens_up import TOKEN, Up, tollens_up
from tests.moved import loaded, moved, sent
from tests.recorded import paths, true_windows

CAPTURE = "s01_token_inflation"
COMPOSE = Path(__file__).parents[2] / "configs" / "compose"
PATIENCE_S = 120.0
SECRET = "whsec_" + base64.b64encode(b"a secret of the tests, only").decode()
AGO_S = 20
"""How long ago the recording ends: the watcher leaves younger telemetry for the next look."""
pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("prometheus-alertmanager") is None,
    reason="there is no `prometheus` or no `prometheus-alertmanager` on the PATH",
)


@dataclass
class Page:
    """A scraped page with one gauge, which the test turns; and a receiver of webhooks, which keeps what is signed."""

    seconds: float = 3.0
    told: list[Any] = field(default_factory=list)

    @contextmanager
    def served(self) -> Iterator[str]:
        page = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                with suppress(BrokenPipeError):  # on a busy machine Prometheus may have gone away
                    self.wfile.write(f"chat_latency_seconds {page.seconds}\n".encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                page.told.append(Webhook(SECRET).verify(body, dict(self.headers)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing on standard error."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as http:
            thread = threading.Thread(target=http.serve_forever)
            thread.start()
            try:
                yield f"127.0.0.1:{http.server_address[1]}"
            finally:
                http.shutdown()
                thread.join()


@dataclass
class Stack:
    """What runs: the page, Prometheus, Alertmanager and Tollens with a recording that has just ended."""

    up: Up
    page: Page
    folder: Path

    def incidents(self) -> list[dict[str, Any]]:
        """All of them, with their diagnoses."""
        heads = self.up.get("api_port", "/api/v1/incidents").json()["incidents"]
        return [self.up.get("api_port", f"/api/v1/incidents/{head['id']}").json() for head in heads]


RULE = {
    "alert": "ChatLatencyHigh",
    "expr": "chat_latency_seconds > 2",
    "for": "1s",
    "labels": {"service": "rag-api", "severity": "page"},
    "annotations": {"summary": "chat answers take {{ $value }} s"},
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("alerting")
    page = Page()
    (folder / "secret").write_text(SECRET)
    with page.served() as scraped, tollens_up(folder, watch={"enabled": False}, exporters=told(scraped, folder)) as up:
        assert {200} == sent(just_recorded(), up.address("otlp_http_port"))
        wait_until(lambda: loaded(folder / "data" / "spool"), PATIENCE_S)
        with alertmanager(folder, up) as alerted:
            (folder / "prometheus").mkdir()
            (folder / "prometheus" / "rules.yml").write_text(
                yaml.safe_dump({"groups": [{"name": "chat", "interval": "500ms", "rules": [RULE]}]})
            )
            (folder / "prometheus" / "prometheus.yml").write_text(yaml.safe_dump(scraping(scraped, alerted)))
            with server(folder / "prometheus"):
                yield Stack(up, page, folder)


def eventually(holds: Callable[[], object]) -> None:
    """Look a few times a second: each look is work for the service."""
    end, gap = time.monotonic() + PATIENCE_S, threading.Event()
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        gap.wait(0.3)


def told(address: str, folder: Path) -> dict[str, Any]:
    """Notices go to the page."""
    hook = {"exporter": "webhook", "name": "hook", "url": f"http://{address}/", "allow": ["127.0.0.1/32"]}
    return {"targets": [hook | {"secret_file": str(folder / "secret")}]}


def just_recorded() -> Iterator[Batch]:
    """The recording, its incident ending a moment ago."""
    batches = [item for item in read(paths(CAPTURE)) if isinstance(item, Batch)]
    return moved(batches, time.time_ns() - AGO_S * 10**9 - true_windows(CAPTURE).incident.end)


def scraping(scraped: str, alerted: str) -> dict[str, Any]:
    """Prometheus: looks at the page every second, at the rule twice."""
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "500ms"},
        "rule_files": ["rules.yml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alerted]}]}]},
        "scrape_configs": [{"job_name": "chat", "static_configs": [{"targets": [scraped]}]}],
    }


@contextmanager
def alertmanager(folder: Path, up: Up) -> Iterator[str]:
    """Alertmanager by the config of docker-compose.yml, with addresses of this test and without waiting."""
    config = yaml.safe_load((COMPOSE / "alertmanager.yml").read_text())
    config["route"] |= {"group_wait": "200ms", "group_interval": "500ms"}
    (hook,) = config["receivers"][0]["webhook_configs"]
    hook["url"] = f"http://{up.address('api_port')}/api/v1/alerts"
    hook["http_config"]["authorization"]["credentials_file"] = str(folder / "token")
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = [
        "prometheus-alertmanager",
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    with running(command, address, folder):
        yield address


def test_a_rule_that_fires_is_explained_and_ends_with_the_alert(stack: Stack) -> None:
    """Page → Prometheus → Alertmanager → incident with its cause → webhook; the page well again → closed, and told."""
    eventually(lambda: any(i["diagnosis"] for i in stack.incidents()))
    (incident,) = stack.incidents()
    assert ("open", "alert:ChatLatencyHigh", "latency", "rag-api") == tuple(
        incident[name] for name in ("state", "detector", "kind", "where")
    )
    assert "rag-api: chat answers take 3 s" == incident["title"]
    first = incident["diagnosis"]["findings"][0]
    assert ("input_token_inflation", "supported") == (first["hypothesis"], first["verdict"])
    metrics = stack.up.get("api_port", "/metrics").text
    assert 'tollens_incident_open{kind="latency",where="rag-api"} 1.0' in metrics
    assert f'tollens_hypothesis_probability{{hypothesis="input_token_inflation",incident="{incident["id"]}"' in metrics
    eventually(lambda: stack.page.told)
    stack.page.seconds = 0.1
    eventually(lambda: [i["state"] for i in stack.incidents()] == ["closed"])
    eventually(lambda: stack.page.told and stack.page.told[-1]["type"] == "incident.resolved")
    notices = [notice["data"]["incident"] for notice in stack.page.told]
    assert {incident["id"]} == {notice["id"] for notice in notices}
    assert "input_token_inflation" == notices[-1]["diagnosis"]["findings"][0]["hypothesis"]
    assert SECRET not in (stack.folder / "log").read_text()


def test_the_wrong_token_keeps_alerts_out(stack: Stack) -> None:
    """What Alertmanager sends without the token is refused, as everything else is."""
    url = f"http://{stack.up.address('api_port')}/api/v1/alerts"
    refused = httpx.post(url, content=json.dumps({"alerts": []}), headers={"Content-Type": "application/json"})
    assert 401 == refused.status_code
    assert TOKEN not in (stack.folder / "log").read_text()
