"""`tollens up` as docker-compose.yml runs it, token included, on ports that the system chooses."""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

CONFIG = Path(__file__).parents[2] / "configs" / "compose" / "tollens.yaml"
TOKEN = "token-of-the-tests"
PATIENCE_S = 120.0


@dataclass
class Up:
    """Running and ready."""

    process: subprocess.Popen[bytes]
    said: dict[str, Any]

    def address(self, port: str) -> str:
        return f"127.0.0.1:{self.said[port]}"

    def get(self, port: str, path: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.get(f"http://{self.address(port)}{path}", headers=headers, timeout=PATIENCE_S)


def settings(folder: Path) -> dict[str, Any]:
    """The settings of the compose file, on loopback and with a token file that is there."""
    found: dict[str, Any] = yaml.safe_load(CONFIG.read_text())
    (folder / "token").write_text(TOKEN + "\n")
    found["api"] |= {"host": "127.0.0.1", "token_file": str(folder / "token")}
    found["collector"]["receivers"]["host"] = found["collector"]["metrics"]["host"] = "127.0.0.1"
    found["collector"]["scrape"]["jobs"] = []
    return found


@contextmanager
def tollens_up(folder: Path, **more: Any) -> Iterator[Up]:
    """Started, with further sections of settings, and stopped at the end."""
    config = folder / "tollens.yaml"
    config.write_text(yaml.safe_dump(settings(folder) | more))
    ports = [text for name in ("", "otlp-grpc-", "otlp-http-", "metrics-") for text in (f"--{name}port", "0")]
    options = ["--config", str(config), "--data", str(folder / "data"), *ports]
    command = [sys.executable, "-m", "correlator", "up", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
    with process:
        try:
            assert process.stdout
            told = select.poll()
            told.register(process.stdout, select.POLLIN)
            line = process.stdout.readline() if told.poll(PATIENCE_S * 1000) else b""
            assert line, f"it did not get ready: {(folder / 'log').read_text()[-3000:]}"
            yield Up(process, json.loads(line))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
