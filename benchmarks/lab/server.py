"""An engine as a process: started, stopped, killed and started again; what it logs and what is scraped of it."""

from __future__ import annotations

import uuid

import numpy as np

from benchmarks.lab.clock import Clock
from benchmarks.lab.engine import Engine
from benchmarks.lab.engine_log import Books, EngineLog
from benchmarks.lab.host import Host
from benchmarks.lab.telemetry import Source, Telemetry
from benchmarks.lab.world import EngineConfig, Phase

START_UP_S = 27.0


class Server:
    """`engine` is None while there is none; `spent` goes on counting over restarts."""

    def __init__(self, clock: Clock, host: Host, telemetry: Telemetry, rng: np.random.Generator) -> None:
        self.clock, self.host, self.telemetry, self.rng = clock, host, telemetry, rng
        self.log = EngineLog()
        self.pages: dict[int, bytes] = {}
        self.source = Source("vllm", "", "vllm.tracing.otel")
        self.engine: Engine | None = None
        self.before = np.zeros(3)

    @property
    def spent(self) -> np.ndarray:
        """Since the capture began: seconds the engine was busy, its GPU was, and its SMs were."""
        engine = self.engine
        return self.before + ([engine.busy_s, engine.gpu_s, engine.sm_s] if engine else [0.0, 0.0, 0.0])

    def boot(self, phase: Phase, took: float) -> None:
        """The engine is ready now; it was started `took` seconds before."""
        start = self.unix() - took
        self.log.started(phase.engine, start, took, "CPU" if phase.gpu is None else "GPU")
        self.books = Books(phase.engine, self.log, start, self.unix())
        self.engine = Engine(phase.engine, self.clock, self.host, self.rng, self.books)
        self.source = Source("vllm", str(uuid.UUID(bytes=self.rng.bytes(16), version=4)), "vllm.tracing.otel")
        t, own = self.telemetry.trace_id(), self.telemetry.span_id()
        source = Source("vllm", self.source.instance, "vllm.v1.engine.core_client")
        begin = self.clock.now - took
        self.telemetry.span(source, "Overall Loading", 1, (t, own, ""), begin, self.clock.now, {})

    def fail_to_load(self, config: EngineConfig) -> None:
        """A start-up that ended now with what it could not read."""
        self.log.broken(config, self.unix() - START_UP_S, START_UP_S)

    def stop(self) -> None:
        """Ordered by somebody."""
        self.log.stopped(self.unix())
        self._end()

    def die(self, reason: str, phase: Phase) -> None:
        """Not ordered: whoever waits for an answer gets an error, and a supervisor starts it again."""
        engine = self.engine
        assert engine is not None
        self.log.died(reason, self.unix())
        engine.die()
        self._end()
        self.clock.after(START_UP_S, lambda: self.boot(phase, START_UP_S))

    def scrape(self) -> None:
        """Keep the metrics page as it stands, if there is one."""
        if self.engine is not None:
            self.pages[self.telemetry.nano(self.clock.now) // 1_000_000] = self.books.metrics.page(
                self.engine, self.unix()
            )
            self.log.access("GET", "/metrics", 200)

    def figures(self, seconds: float) -> None:
        """Log the line of figures for as many seconds."""
        if self.engine is not None:
            self.books.figures(self.engine, seconds, self.unix())

    def unix(self) -> float:
        """Unix seconds now."""
        return self.telemetry.epoch + self.clock.now

    def _end(self) -> None:
        self.before, self.engine = self.spent, None
