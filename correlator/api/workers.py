"""A fixed number of threads for work that blocks: the store keeps a handle for every thread it ever met."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple, TypeVar

from correlator.api.problems import Busy

T = TypeVar("T")
READERS = 4
WAITING = 64


class Workers:
    """Runs functions in `threads` threads; beyond those at most `waiting` wait, further ones are refused."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._limit = threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"tollens-{name}")
        self._lock = Lock()
        self.busy = 0
        self.refused = 0

    async def run(self, work: Callable[..., T], *args: object) -> T:
        """The result of `work(*args)`. Raises Busy when there is no room.

        A caller that goes away does not free its place before the work is done.
        """
        with self._lock:
            if self.busy >= self._limit:
                self.refused += 1
                raise Busy(f"all {self._limit} places for {self.name} are taken")
            self.busy += 1
        try:
            future = self._pool.submit(work, *args)
        except RuntimeError:
            self._left()
            raise Busy("the service is stopping") from None
        future.add_done_callback(self._done)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Wait for what runs; what waits is not begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _done(self, _: Future[T]) -> None:
        self._left()

    def _left(self) -> None:
        with self._lock:
            self.busy -= 1


class Pools(NamedTuple):
    """Workers by what their work waits for, so that who reads an incident does not wait for a trace or a join.

    `reads` are mostly of memory; `traces` ask the engine; `joins` go through minutes of telemetry.
    """

    reads: Workers
    traces: Workers
    joins: Workers
    diagnoses: Workers


def pools(diagnoses: int) -> Pools:
    """Few threads each: on few cores more of them only wait for one another. Of diagnoses none waits."""
    return Pools(
        Workers("reads", READERS, WAITING),
        Workers("traces", 2, WAITING),
        Workers("joins", 1, WAITING),
        Workers("diagnoses", diagnoses, 0),
    )
