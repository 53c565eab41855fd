"""A child process whose output is read line by line, within bounds of time and length."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress

LONGEST_LINE = 16_384
GRACE_S = 2.0


class Child:
    """A running program with stdout and stderr as one stream. Raises OSError if it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        self._killed = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def bursts(self, silence_s: float) -> Iterator[list[str]]:
        """The lines that came together, again and again until the stream ends or is silent for too long."""
        assert self._process.stdout
        descriptor = self._process.stdout.fileno()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN | select.POLLHUP)
        rest = b""
        while waiting.poll(silence_s * 1000):
            chunk = os.read(descriptor, 65_536)
            *whole, rest = (rest + chunk).split(b"\n")
            yield [line[:LONGEST_LINE].decode(errors="replace") for line in (whole if chunk else [rest])]
            if not chunk:
                return
            rest = rest[:LONGEST_LINE]

    def kill(self) -> None:
        """Ask it to end, with all it has started, and insist after a moment; once. May be called from any thread."""
        if self._killed:
            return
        self._killed = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> int:
        """End it if it has not ended, and free its pipe; its exit status."""
        self.kill()
        assert self._process.stdout
        self._process.stdout.close()
        return self._process.wait()
