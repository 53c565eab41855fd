"""Delivers what the outbox holds, in a thread of its own; each target has its line, so that none waits for another."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from correlator.model.deliveries import TargetState
from correlator.notify.line import Line, Target
from correlator.notify.outbox import Outbox

GRACE_S = 5.0
"""What is under way when the service stops may take so long."""
LOOK_EVERY_S = 0.1
"""Between two looks whether it has to end."""


class Notifier:
    """Delivers from `start` to `stop`."""

    def __init__(self, outbox: Outbox, targets: Sequence[Target], chance: Callable[[], float] = random.random) -> None:
        self._outbox = outbox
        self._lines = {target.name: Line(outbox, target, chance) for target in targets}
        self._ending, self._grace_s = threading.Event(), GRACE_S
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="notify", daemon=True)

    def start(self) -> None:
        """Begin; once only. What waits for targets that are no longer there becomes dead letters."""
        self._outbox.only([*self._lines])
        if self._lines:
            self._thread.start()

    def stop(self, grace_s: float = GRACE_S) -> None:
        """End after what is under way, or after the grace. The rest stays in the outbox."""
        self._grace_s = grace_s
        self._ending.set()
        if self._lines:
            self._thread.join(grace_s + GRACE_S)

    def states(self) -> list[TargetState]:
        """How each target stands."""
        states = self._outbox.states([*self._lines])
        return [replace(state, trouble=self._lines[state.name].trouble) for state in states]

    async def _run(self) -> None:
        loop, ending = asyncio.get_running_loop(), asyncio.Event()
        # Names that resolve slowly for one target hold up no other.
        loop.set_default_executor(ThreadPoolExecutor(2 * len(self._lines) + 1, thread_name_prefix="notify"))
        tasks = [loop.create_task(line.run(ending)) for line in self._lines.values()]
        while not self._ending.is_set():
            await asyncio.sleep(LOOK_EVERY_S)
        ending.set()
        _, late = await asyncio.wait(tasks, timeout=self._grace_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
