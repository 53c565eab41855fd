"""Connections that are shared: whoever finds none waits in order."""

from __future__ import annotations

from collections import deque

from benchmarks.lab.clock import Signal


class Pool:
    """Connections; None of them means as many as are asked for."""

    def __init__(self, size: int | None) -> None:
        self.size = self._free = size
        self._queue: deque[Signal] = deque()

    @property
    def used(self) -> int:
        """Connections in use, of a pool that has a size."""
        return (self.size or 0) - (self._free or 0)

    @property
    def pending(self) -> int:
        """How many wait for one."""
        return len(self._queue)

    def take(self) -> Signal:
        """Fires when there is a connection."""
        turn = Signal()
        if self._free is None:
            turn.fire()
        elif self._free:
            self._free -= 1
            turn.fire()
        else:
            self._queue.append(turn)
        return turn

    def give(self) -> None:
        """Hand it to whoever waits longest."""
        if self._queue:
            self._queue.popleft().fire()
        elif self._free is not None:
            self._free += 1
