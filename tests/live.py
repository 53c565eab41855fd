"""A `tollens up` on ports of its own that stay when it is started again, and what is in its store afterwards."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from correlator.store import Store

PATIENCE_S = 240.0
QUIET = {"collector": {"gpu": {"nvml": False}}, "watch": {"enabled": False}}
PORTS = ("port", "otlp-grpc-port", "otlp-http-port", "metrics-port")


@dataclass
class Live:
    """The folder it works in, its ports by option, and its process where it runs.

    `within` is a command that runs another one in a mount namespace, and `root` the root folder as seen there.
    """

    folder: Path
    ports: Mapping[str, int]
    within: Sequence[str] = ()
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and do not wait; SIGKILL of all of it first, if it runs."""
        self.kill()
        options = [text for name, port in self.ports.items() for text in (f"--{name}", str(port))]
        config = ["--config", str(self.folder / "tollens.yaml"), "--data", str(self.folder / "data")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, sys.executable, "-m", "correlator", "up", *config, *options],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=os.environ | self.environment,
            )

    def parts(self) -> dict[str, int]:
        """Process ids of the parts that run."""
        assert self.process is not None
        found = {}
        with suppress(OSError):
            for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
                with suppress(OSError, ValueError):
                    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    found[command[command.index(b"-m") + 1].decode()] = int(pid)
        return found

    def kill(self, *names: str) -> int:
        """SIGKILL of these parts, of all and of the supervisor when none is named: how many processes."""
        if self.process is None:
            return 0
        parts = self.parts()
        pids = [parts[name] for name in names if name in parts] if names else [self.process.pid, *parts.values()]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not names:
            self.process.wait()
            self.process = None
            eventually(lambda: all(ended(pid) for pid in pids))
        return len(pids)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code

    def url(self, port: str, path: str) -> str:
        return f"http://127.0.0.1:{self.ports[port]}{path}"

    def get(self, path: str, port: str = "port") -> httpx.Response | None:
        """An answer, or None while nobody answers."""
        with suppress(httpx.TransportError):
            return httpx.get(self.url(port, path), timeout=PATIENCE_S)
        return None

    def ready(self) -> bool:
        """Whether both parts say so."""
        answers = [self.get("/readyz"), self.get("/readyz", "otlp-http-port")]
        return [200, 200] == [answer and answer.status_code for answer in answers]

    def metrics(self, port: str) -> dict[str, float]:
        """Samples by name, with label values in braces."""
        page = httpx.get(self.url(port, "/metrics"), timeout=PATIENCE_S).text
        samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
        return {s.name + (f"{{{','.join(s.labels.values())}}}" if s.labels else ""): s.value for s in samples}

    def segments(self) -> list[str]:
        """Segments in the spool, whether sealed or growing."""
        return [path.name for path in (self.data / "spool").glob("*-*.*")]

    @property
    def data(self) -> Path:
        """The data folder, from outside."""
        return self.root / (self.folder / "data").relative_to("/")

    def log(self) -> str:
        return (self.folder / "log").read_text()


@contextmanager
def live(folder: Path, settings: Mapping[str, Any] = QUIET, **more: Any) -> Iterator[Live]:
    """It has been started; at the end whatever runs is killed. `more` are fields of Live."""
    (folder / "tollens.yaml").write_text(yaml.safe_dump(dict(settings)))
    service = Live(folder, dict(zip(PORTS, free_ports(len(PORTS)), strict=True)), **more)
    service.start()
    try:
        yield service
    finally:
        service.kill()


def free_ports(count: int) -> list[int]:
    """Ports that nobody used a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def stored(data: Path, table: str = "otel_traces", name: str = "SpanName") -> Counter[str]:
    """How often each name is in a table. Only while nothing else has the store open."""
    with Store.open(data / "store") as store:
        rows = store.query(f"SELECT toString({name}) AS name, count() AS rows FROM {table} GROUP BY name")
    return Counter(dict(zip(rows["name"], map(int, rows["rows"]), strict=True)))


def eventually(holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait until it holds."""
    end, gap = time.monotonic() + patience_s, threading.Event()
    while not holds():
        assert time.monotonic() < end, "it never held"
        gap.wait(0.1)


def ended(pid: int) -> bool:
    """Whether a process is gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
