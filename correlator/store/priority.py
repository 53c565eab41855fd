"""Lets the engine's threads give way to those that answer people, on machines where there are fewer cores than work.

Loading keeps every core busy for a moment, and a request of the API is many short turns, each of which waits for a
core. Python's threads keep their priority: who holds its lock must not be the one that waits.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

NICE = 10
"""Where cores are short a tenth of the share of others; else it changes nothing. It halved the p99 of reads on two."""
_TASKS = Path("/proc/self/task")


class Background:
    """The threads of this process that Python did not start. Nothing where the system does not list them."""

    def __init__(self) -> None:
        self._lowered: set[int] = set()
        self._seen: set[int] = set()

    def lower(self) -> int:
        """Lower those that were there at the last call, too, so that none is just starting: how many."""
        if not _TASKS.is_dir():
            return 0
        tasks = {int(task.name) for task in _TASKS.iterdir()}
        ours = {thread.native_id for thread in threading.enumerate()}
        new = (tasks & self._seen) - ours - self._lowered
        for task in new:
            with suppress(OSError):  # it has ended, or the system forbids it
                os.setpriority(os.PRIO_PROCESS, task, NICE)
        self._seen, self._lowered = tasks, (self._lowered | new) & tasks
        return len(new)
