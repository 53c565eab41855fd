"""Starts the sampler's process against the stand-in for NVML, which is compiled once a session."""

import base64
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from correlator.model.records import Signal
from tests.collector.memory_sink import PATIENCE_S, MemorySink

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("gcc") or shutil.which("cc")
NEEDS_COMPILER = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler for the stand-in of libnvidia-ml")


def compiled(folder: Path) -> Path:
    """The folder, with the stand-in in it under the library's real name."""
    assert COMPILER
    source, library = Path(__file__).with_name("nvml_stand_in.c"), folder / "libnvidia-ml.so.1"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-Werror", "-o", library, source], check=True, timeout=60)
    return folder


class Process:
    """The sampler's process: its requests arrive in `sink`, `script` says what the library plays."""

    def __init__(self, sink: MemorySink, script: Path, process: subprocess.Popen[str]) -> None:
        self.sink, self._script, self._process = sink, script, process
        self._states: queue.Queue[Any] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def play(self, *lines: str) -> None:
        """From now on the library does this."""
        fresh = self._script.with_suffix(".new")
        fresh.write_text("".join(f"{line}\n" for line in lines))
        os.replace(fresh, self._script)

    def failures(self, function: str, gpu: int) -> int:
        """How often this function has failed on this GPU."""
        calls = Path(f"{self._script}.calls")
        return calls.read_text().splitlines().count(f"{function} {gpu}") if calls.exists() else 0

    def ask(self, what: str = "state") -> Any:
        """The state, or the answer to another request."""
        self._stdin.write(f"{what}\n")
        self._stdin.flush()
        return self._states.get(timeout=PATIENCE_S)

    def stop(self) -> Any:
        """End it as its stop does; the last state."""
        self.end()
        self.join()
        return self._states.get(timeout=PATIENCE_S)

    def end(self) -> None:
        """Let it stop sampling and leave, which it must do without an error."""
        self._stdin.close()
        assert 0 == self._process.wait(PATIENCE_S)

    def join(self) -> None:
        """Take in the rest of what it said."""
        self._reader.join(PATIENCE_S)

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin
        return self._process.stdin

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            said = json.loads(line)
            if "state" in said:
                self._states.put(said["state"])
            else:
                self.sink.put(Signal(said["signal"]), base64.b64decode(said["payload"]))


@contextmanager
def sampling(library: Path | None, script: Path, *lines: str, **settings: Any) -> Iterator[Process]:
    """A running sampler whose library plays these lines; without lines there is no driver yet."""
    given = {"interval_s": 0.2, "retry_s": 0.2, "host_name": "node-1", **settings}
    command = [sys.executable, "-W", "error", "-m", "tests.collector.nvml_child", json.dumps(given)]
    environment = {**os.environ, "NVML_STAND_IN": str(script), "PYTHONPATH": str(ROOT)}
    environment["LD_LIBRARY_PATH"] = str(library or script.parent)
    if lines:
        script.write_text("".join(f"{line}\n" for line in lines))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes) as popen:  # type: ignore[call-overload]
        process = Process(MemorySink(), script, popen)
        try:
            yield process
            process.end()
        finally:
            popen.kill()
            process.join()
