"""A running `tollens up` in a folder of its own, on ports the system chooses. Linux only: parts are found in /proc."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

STOP_S = 120.0


@dataclass(frozen=True, slots=True)
class Service:
    """The supervisor's process, the ports that it announced, and the file where it logs."""

    process: subprocess.Popen[str]
    ports: Mapping[str, int]
    log: Path

    def parts(self) -> dict[str, int]:
        """Process ids by the name of the part: collector, correlator."""
        pid = self.process.pid
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        commands = {int(child): Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in listed}
        return {command[command.index(b"-m") + 1].decode(): child for child, command in commands.items()}


@contextmanager
def running(folder: Path, settings: Mapping[str, Any]) -> Iterator[Service]:
    """The service until it is left; `settings` are those of `tollens.yaml`. SystemExit, with its log, if it fails."""
    config, log = folder / "tollens.yaml", folder / "log"
    config.write_text(yaml.safe_dump(dict(settings)))
    ports = [text for name in ("", "otlp-grpc-", "otlp-http-", "metrics-") for text in (f"--{name}port", "0")]
    command = [sys.executable, "-m", "correlator", "up", "--config", str(config), "--data", str(folder), *ports]
    with log.open("w") as err, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"the service did not get ready:\n{log.read_text()}")
            yield Service(process, json.loads(line), log)
        finally:
            process.terminate()
            process.wait(STOP_S)
