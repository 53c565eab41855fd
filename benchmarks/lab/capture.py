"""Runs a scenario and writes it as a capture: traces, metrics, logs, metric pages, engine log, truth."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.lab.client import Client
from benchmarks.lab.clock import Clock, Process
from benchmarks.lab.engine import Engine
from benchmarks.lab.engine_log import Books, EngineLog
from benchmarks.lab.host import Host
from benchmarks.lab.otlp import attributes
from benchmarks.lab.telemetry import Source, Telemetry
from benchmarks.lab.world import Phase, Scenario

EPOCH = 1_796_100_000
WARM_UP_S, WINDOW_S, DRAIN_S, START_UP_S, READY_S, SCRAPE_S = 18.0, 74.0, 10.0, 27.0, 3.0, 2.0
FIGURES_S = 10.0


class Run:
    """One simulated capture. Everything random comes from the seed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.rng = np.random.default_rng([seed, *scenario.name.encode()])
        self.clock, self.log = Clock(), EngineLog()
        self.telemetry = Telemetry(EPOCH + seed * 1000, self.rng)
        self.host = Host(scenario.baseline, self.rng, scenario.busy)
        self.client = Client(scenario.baseline, self.clock, self.host, self.telemetry, self.rng)
        self.pages: dict[int, bytes] = {}
        self.up = False
        self.node = Source("node-agent", self._instance(), "opentelemetry.instrumentation.system_metrics")

    def windows(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Run it; the two windows in Unix seconds."""
        self._boot(self.scenario.baseline, 0.0)
        self.clock.start(self._scrape())
        self.clock.start(self._figures())
        self.clock.start(self._node())
        now = READY_S + WARM_UP_S
        self.clock.start(self._arrivals(READY_S, now + WINDOW_S))
        self.clock.run(now + WINDOW_S)
        baseline = (now, now + WINDOW_S)
        if self.scenario.restart:
            self.clock.run(self.clock.now + DRAIN_S)
            self._restart()
        self.client.change(self.scenario.incident)
        self.host.phase = self.scenario.incident
        begin = self.clock.now
        self.clock.start(self._arrivals(begin, begin + WINDOW_S))
        self.clock.run(begin + WINDOW_S + DRAIN_S)
        epoch = self.telemetry.epoch
        return (epoch + baseline[0], epoch + baseline[1]), (epoch + begin, epoch + begin + WINDOW_S)

    def _restart(self) -> None:
        self.log.stopped(self._unix())
        self.up = False
        self.clock.run(self.clock.now + START_UP_S)
        self._boot(self.scenario.incident, START_UP_S)
        self.clock.run(self.clock.now + READY_S)

    def _boot(self, phase: Phase, took: float) -> None:
        """The engine is ready now; it was started `took` seconds before."""
        start = self._unix() - took
        self.log.started(phase.engine, start, took)
        self.books = Books(phase.engine, self.log, start)
        self.engine = Engine(phase.engine, self.clock, self.host, self.rng, self.books)
        self.client.engine = self.engine
        self.client.engine_source = Source("vllm", self._instance(), "vllm.tracing.otel")
        self.up = True
        t, own = self.telemetry.trace_id(), self.telemetry.span_id()
        source = Source("vllm", self.client.engine_source.instance, "vllm.v1.engine.core_client")
        begin = self.clock.now - took
        self.telemetry.span(source, "Overall Loading", 1, (t, own, ""), begin, self.clock.now, {})

    def _arrivals(self, begin: float, end: float) -> Process:
        """Poisson arrivals whose rate itself comes in bursts."""
        yield begin - self.clock.now
        while self.clock.now < end:
            rate = self.client.phase.load.rate * float(self.rng.gamma(30.0, 1 / 30.0))
            until = min(self.clock.now + 4.0, end)
            while (gap := float(self.rng.exponential(1 / rate))) < until - self.clock.now:
                yield gap
                self.clock.start(self.client.answer())
            yield until - self.clock.now + 1e-9

    def _scrape(self) -> Process:
        while True:
            if self.up:
                self.pages[self.telemetry.nano(self.clock.now) // 1_000_000] = self.books.metrics.page(self.engine)
                self.log.access("GET", "/metrics", 200)
            yield SCRAPE_S

    def _figures(self) -> Process:
        while True:
            yield FIGURES_S
            if self.up:
                self.books.figures(self.engine, FIGURES_S, self._unix())

    def _node(self) -> Process:
        before = 0.0
        while True:
            yield SCRAPE_S
            busy = self.engine.busy_s - before if self.engine.busy_s >= before else self.engine.busy_s
            before = self.engine.busy_s
            self.telemetry.metrics(self.node, self.clock.now, [self._cpu(min(busy / SCRAPE_S, 1.0))])

    def _cpu(self, engine_busy: float) -> dict[str, object]:
        now = str(self.telemetry.nano(self.clock.now))
        points = [
            {"timeUnixNano": now, "asDouble": value, "attributes": attributes({"state": state, "cpu": cpu})}
            for cpu, idle in enumerate(self.host.idle(engine_busy), 1)
            for state, value in (("idle", idle), ("user", 0.85 * (1 - idle)), ("system", 0.15 * (1 - idle)))
        ]
        return {"name": "system.cpu.utilization", "unit": "1", "gauge": {"dataPoints": points}}

    def _unix(self) -> float:
        return self.telemetry.epoch + self.clock.now

    def _instance(self) -> str:
        return str(uuid.UUID(bytes=self.rng.bytes(16), version=4))


def write_capture(scenario: Scenario, folder: Path, seed: int) -> None:
    """Simulate and write; the same seed gives the same bytes."""
    run = Run(scenario, seed)
    baseline, incident = run.windows()
    scrape = folder / "scrape"
    scrape.mkdir(parents=True, exist_ok=True)
    _write(folder / "traces.jsonl", run.telemetry.trace_lines())
    _write(folder / "metrics.jsonl", run.telemetry.metric_lines())
    _write(folder / "logs.jsonl", run.telemetry.log_lines())
    _write(folder / "vllm.log", run.log.lines)
    for stamp, page in run.pages.items():
        (scrape / f"{stamp}.prom").write_bytes(page)
    truth = {
        "name": scenario.name, "id": scenario.truth, "also": list(scenario.also), "symptom": scenario.symptom,
        "seed": seed, "baseline": baseline, "incident": incident,
    }  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
