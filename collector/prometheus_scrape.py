"""Scrapes Prometheus and OpenMetrics endpoints into the sink as OTLP: vLLM, SGLang, Triton, dcgm-exporter …"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from collector.scraping.loop import TargetLoop, TargetState, is_set_within
from collector.scraping.targets import Discovery, ScrapeJob, ScrapeSettings, Target
from collector.sink import Sink
from correlator.model.telemetry import Spans, untraced

__all__ = ["ScrapeJob", "ScrapeSettings", "Scraper", "ScraperState", "TargetState"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScraperState:
    """Every target that is scraped, and what could not be made a target: source → reason."""

    running: bool
    targets: tuple[TargetState, ...]
    problems: dict[str, str]


class Scraper:
    """Scrapes all targets of the settings from `start` to `stop`, in a thread of its own."""

    def __init__(
        self,
        settings: ScrapeSettings,
        sink: Sink,
        unix_nano: Callable[[], int] = time.time_ns,
        spans: Spans = untraced,
    ) -> None:
        self._settings, self._sink, self._unix_nano, self._spans = settings, sink, unix_nano, spans
        self._thread = threading.Thread(target=self._run, name="prometheus_scrape", daemon=True)
        self._asyncio: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._stopping = asyncio.Event()
        self._grace_s = 0.0
        self._loops: dict[Target, TargetLoop] = {}
        self._tasks: dict[Target, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._problems: dict[str, str] = {}

    def start(self) -> None:
        """Begin to scrape; once only."""
        self._thread.start()
        self._started.wait()

    def stop(self, grace_s: float = 15.0) -> None:
        """Begin no further scrape, let those under way reach the sink for `grace_s`, and end."""
        if self._asyncio is None or not self._thread.is_alive():
            return
        self._grace_s = grace_s
        self._asyncio.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def state(self) -> ScraperState:
        """How each target fares now."""
        targets = tuple(loop.state() for loop in list(self._loops.values()))
        return ScraperState(self._thread.is_alive(), targets, dict(self._problems))

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._asyncio = asyncio.get_running_loop()
        self._started.set()
        discovery = Discovery(self._settings)
        while not self._stopping.is_set():
            self._adopt(await asyncio.to_thread(self._look, discovery))
            await is_set_within(self._stopping, self._settings.refresh_s)
        for loop in self._loops.values():
            loop.ended.set()
        await self._drain((*self._tasks.values(), *self._leaving))

    def _look(self, discovery: Discovery) -> tuple[Target, ...]:
        """The targets of now; those of before where looking fails."""
        try:
            targets = discovery.targets()
        except Exception:
            _LOG.exception("looking for targets failed in an unexpected way; those of before are kept")
            return tuple(self._loops)
        for source in discovery.problems.keys() - self._problems.keys():
            _LOG.warning("%s: %s", source, discovery.problems[source])
        self._problems = discovery.problems
        return targets

    def _adopt(self, targets: Iterable[Target]) -> None:
        """Begin with the targets that are new, end with those that are gone."""
        wanted = set(targets)
        for target in self._loops.keys() - wanted:
            leaving = asyncio.create_task(_leave(self._loops.pop(target), self._tasks.pop(target)))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        for target in wanted - self._loops.keys():
            loop = TargetLoop(target, self._sink, self._unix_nano, self._spans)
            self._loops[target] = loop
            self._tasks[target] = asyncio.create_task(loop.run())

    async def _drain(self, tasks: tuple[asyncio.Task[None], ...]) -> None:
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self._grace_s)
        for task in late:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                _LOG.error("a target ended in an unexpected way: %r", result)


async def _leave(loop: TargetLoop, task: asyncio.Task[None]) -> None:
    loop.ended.set()
    await task
    await loop.forget()
