"""`tollens up`: keeps the collector and the correlator running, each in a process of its own.

A process that ends unasked is started again, with growing pauses. Stopping goes in the direction of the data: first
the collector seals what it has taken, then the correlator loads it.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from correlator.model.orphan import SUPERVISED

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
STEADY_S = 60.0
"""A process that ran so long begins anew with the first pause."""
STOP_S = 45.0
"""To seal or load what was taken; then it is killed, which loses nothing either."""
WRONG_USAGE = 2
LOG = logging.getLogger(__name__)

Ready = Mapping[str, object]


@dataclass
class Part:
    """A process that is kept running. `ready` is what it said when it last was."""

    name: str
    command: Sequence[str]
    process: subprocess.Popen[str] | None = None
    ready: Ready = field(default_factory=dict)
    was_ready: bool = False
    pause_s: float = FIRST_PAUSE_S
    began: float = 0.0
    again_at: float = 0.0

    def start(self, told: Callable[[], None]) -> None:
        """Start it; `told` is called when it says that it is ready."""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {SUPERVISED: str(os.getpid())},
        )
        self.ready, self.began = {}, time.monotonic()
        threading.Thread(target=self._listen, args=(self.process, told), daemon=True).start()

    def stop(self) -> None:
        """Ask it to end, and end it when it does not."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            LOG.warning("%s did not stop within %g s and is killed", self.name, STOP_S)
            self.process.kill()
            self.process.wait()

    def rest(self) -> None:
        """Say when it may start again."""
        if time.monotonic() - self.began > STEADY_S:
            self.pause_s = FIRST_PAUSE_S
        self.again_at = time.monotonic() + self.pause_s
        self.pause_s = min(2 * self.pause_s, LONGEST_PAUSE_S)

    def _listen(self, process: subprocess.Popen[str], told: Callable[[], None]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                try:
                    self.ready, self.was_ready = json.loads(line), True
                except ValueError:
                    continue
                told()


def keep_running(parts: Sequence[Part], announce: Callable[[Ready], None]) -> int:
    """Run until SIGTERM or SIGINT: exit code 0. A part that at the start refuses its configuration ends all of them: 2.

    One that has run before is tried again whatever it says: a disk may come back, and the other part is of use.

    `announce` gets what all parts said, each time that all are ready.
    """
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())

    def told() -> None:
        if all(part.ready for part in parts):
            announce({key: value for part in parts for key, value in part.ready.items()})

    code = 0
    for part in parts:
        part.start(told)
    while not stopped.wait(0.1):
        if any(_ended(part) == WRONG_USAGE and not part.was_ready for part in parts):
            code = WRONG_USAGE
            break
        for part in parts:
            _revive(part, told)
    for part in parts:
        part.stop()
    return code


def _ended(part: Part) -> int | None:
    return part.process.poll() if part.process is not None else None


def _revive(part: Part, told: Callable[[], None]) -> None:
    code = _ended(part)
    if code is not None:
        LOG.warning("%s ended with code %d; it is started again in %g s", part.name, code, part.pause_s)
        part.process = None
        part.rest()
    if part.process is None and time.monotonic() >= part.again_at:
        part.start(told)


def python(*arguments: str) -> list[str]:
    """A command that runs a module with this Python, whatever modules lie in the working directory."""
    return [sys.executable, "-P", "-m", *arguments]
