"""Targets of every exporter, and a real receiver on loopback that answers as a test says."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from correlator.notify.line import Target
from correlator.notify.settings import NotifySettings
from correlator.wiring import targets
from exporters._registry import all_exporters
from tests.serving import served

PATIENCE_S = 30.0
KEY = "whsec_c2VjcmV0LW9mLXRoZS10ZXN0cy1vbmx5"
"""Good as a signing secret, a routing key and a bearer token."""
PATH_SECRET = "/services/T0/B0/verysecretpath"


@dataclass(frozen=True)
class Answer:
    """What the receiver answers, after `wait` was set."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    wait: threading.Event | None = None


@dataclass(frozen=True)
class Got:
    """A request that came; the names of its headers in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Handler(BaseHTTPRequestHandler):
    """Keeps each request and answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Receiver"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        got = Got(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        answer = self.server.asked(got)
        if answer.wait is not None:
            answer.wait.wait(PATIENCE_S)
        self.send_response(answer.status)
        for name, value in ({"Content-Length": f"{len(answer.body)}"} | dict(answer.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Receiver(ThreadingHTTPServer):
    """`answer` is asked for each request; `got` are those that came."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Got], Answer], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answer = answer
        self.got: list[Got] = []
        self._came = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def asked(self, got: Got) -> Answer:
        answer = self.answer(got)
        with self._came:
            self.got.append(got)
            self._came.notify_all()
        return answer

    def wait_for(self, many: int, patience_s: float = PATIENCE_S) -> list[Got]:
        """The requests, as soon as there are so many."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.got) >= many, patience_s), f"only {len(self.got)} came"
            return list(self.got)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is what some tests are about."""


@contextmanager
def receiver(*answers: Answer, always: Answer = Answer(), port: int = 0) -> Iterator[Receiver]:
    """A receiver that gives these answers first."""
    left = iter(answers)
    with Receiver(lambda got: next(left, always), port) as server, served(server):
        yield server


def until(holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Return as soon as it holds."""
    end, gap = time.monotonic() + patience_s, threading.Event()
    while not holds():
        assert time.monotonic() < end, "it never held"
        gap.wait(0.01)


def secret_for(id: str, url: str) -> str:
    """A secret that this exporter accepts: a key, or where it goes to."""
    exporter = all_exporters()[id]
    try:
        exporter.check(KEY)
    except ValueError:
        return url + PATH_SECRET
    return KEY


def configured(id: str, folder: Path, url: str, **options: Any) -> dict[str, Any]:
    """A target of this exporter as a person writes it."""
    secret = folder / f"{id}.secret"
    secret.write_text(secret_for(id, url) + "\n")
    place = {"url": url} if "url" in all_exporters()[id].settings.model_fields else {}
    return {"exporter": id, "name": id, "secret_file": str(secret), "allow": ["127.0.0.0/8"]} | place | options


def target(id: str, folder: Path, url: str, **options: Any) -> Target:
    """The same, bound."""
    return targets(NotifySettings(targets=(configured(id, folder, url, **options),)))[0]


def exporter_ids() -> Sequence[str]:
    return sorted(all_exporters())
