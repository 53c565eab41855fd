"""Real counterparts as processes of their own, an OpenTelemetry Collector above all, and where they listen."""

import os
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.collector.spooling import wait_until
from tests.counterparts.building import otelcol

CONFIGS = Path(__file__).parents[2] / "configs" / "otelcol"
PATIENCE_S = 60.0


def free_port() -> int:
    """A port below those that the system gives to outgoing connections, so that it stays free until it is used."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with closing(socket.socket()) as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


@dataclass
class Otelcol:
    """How one Collector is run: its config, and the environment that the config reads; started as often as wanted."""

    config: Path
    folder: Path
    more: Mapping[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(
        default_factory=lambda: {name: free_port() for name in ("GRPC", "HTTP", "HEALTH", "METRICS_PORT")}
    )

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.ports['HTTP']}"

    @property
    def log(self) -> Path:
        return self.folder / "otelcol.log"

    def environment(self) -> dict[str, str]:
        places = {name: f"127.0.0.1:{port}" for name, port in self.ports.items() if name != "METRICS_PORT"}
        own = {f"OTELCOL_{name}": place for name, place in places.items()}
        metrics = str(self.ports["METRICS_PORT"])
        own |= {"OTELCOL_METRICS_PORT": metrics, "OTELCOL_STORAGE": str(self.folder / "queue")}
        own |= {"VLLM_METRICS": f"127.0.0.1:{metrics}", "HOST_NAME": "node-7", "SCRAPE_INTERVAL": "1s"}
        inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
        return inherited | own | dict(self.more)

    def command(self, verb: str = "") -> list[str]:
        return [str(otelcol()), *([verb] if verb else []), "--config", str(self.config)]

    def validate(self) -> str:
        """What it says against its config; nothing when all is well."""
        done = subprocess.run(
            self.command("validate"),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return done.stderr if done.returncode else ""

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Started and ready; killed at the end if it still runs."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(self.command(), env=self.environment(), stdout=log, stderr=log)
        with process:
            try:
                wait_until(lambda: self.ready(process), PATIENCE_S)
                yield process
            finally:
                process.kill()

    def ready(self, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, f"it ended: {self.log.read_text()[-3000:]}"
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.ports['HEALTH']}").status_code == 200
        return False

    def metrics(self) -> dict[str, float]:
        """Its own metrics, added up over labels."""
        page = httpx.get(f"http://127.0.0.1:{self.ports['METRICS_PORT']}/metrics").text
        sums: dict[str, float] = {}
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
        return sums


@contextmanager
def running(command: Sequence[str], address: str, folder: Path) -> Iterator[None]:
    """A server of the Prometheus family on loopback, ready; killed at the end. Its log is in `folder`."""
    with (folder / f"{command[0]}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

    def ready() -> bool:
        assert process.poll() is None, f"{command[0]} ended"
        with suppress(httpx.TransportError):
            return httpx.get(f"http://{address}/-/ready").status_code == 200
        return False

    with process:
        try:
            wait_until(ready, PATIENCE_S)
            yield
        finally:
            process.kill()
