"""Simulated time: an event queue, and processes written as generators.

A process yields seconds to sleep or a `Signal` to wait for; the value the signal fires with is sent back.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from typing import Any

Process = Generator[Any, Any, Any]
TIMED_OUT = object()


class Signal:
    """Fires once, with a value; later fires are ignored."""

    def __init__(self) -> None:
        self.fired = False
        self.value: Any = None
        self._waiting: list[Callable[[Any], None]] = []

    def fire(self, value: Any = None) -> None:
        """Wake everybody who waits."""
        if self.fired:
            return
        self.fired, self.value = True, value
        for wake in self._waiting:
            wake(value)

    def then(self, wake: Callable[[Any], None]) -> None:
        """Call back when it fires, or now if it has."""
        if self.fired:
            wake(self.value)
        else:
            self._waiting.append(wake)


class Clock:
    """Simulated seconds since the start of the capture."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call in that many seconds; calls of one moment run in the order they were asked for."""
        self._count += 1
        heapq.heappush(self._queue, (self.now + max(seconds, 0.0), self._count, call))

    def start(self, process: Process) -> None:
        """Run a process until it ends."""
        self._advance(process, None)

    def within(self, signal: Signal, seconds: float) -> Signal:
        """Fires as `signal` does, or with TIMED_OUT after that many seconds."""
        either = Signal()
        signal.then(either.fire)
        self.after(seconds, lambda: either.fire(TIMED_OUT))
        return either

    def run(self, until: float) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, call = heapq.heappop(self._queue)
            call()
        self.now = until

    def _advance(self, process: Process, value: Any) -> None:
        try:
            asked = process.send(value)
        except StopIteration:
            return
        if isinstance(asked, Signal):
            asked.then(lambda result: self._advance(process, result))
        else:
            self.after(asked, lambda: self._advance(process, None))
