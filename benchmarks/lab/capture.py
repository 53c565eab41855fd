"""Runs a scenario and writes it as a capture: traces, metrics, logs, metric pages, logs of engine and kernel, truth."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.lab import dcgm
from benchmarks.lab.client import Client
from benchmarks.lab.clock import Clock, Process
from benchmarks.lab.dcgm import Dcgm
from benchmarks.lab.host import Host
from benchmarks.lab.kernel import KernelLog
from benchmarks.lab.otlp import attributes
from benchmarks.lab.server import START_UP_S, Server
from benchmarks.lab.steps import store_figures
from benchmarks.lab.telemetry import Source, Telemetry
from benchmarks.lab.world import Scenario

EPOCH = 1_796_100_000
WARM_UP_S, DRAIN_S, READY_S, SCRAPE_S = 18.0, 10.0, 3.0, 2.0
FIGURES_S = 10.0
FAULT_S, FAULTS_S = 10.0, 40.0
"""When the GPU fails for the first time in the incident, and how long until it does again."""
ECC_ERROR = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"


class Run:
    """One simulated capture. Everything random comes from the seed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.rng = np.random.default_rng([seed, *scenario.name.encode()])
        self.clock = Clock()
        self.telemetry = Telemetry(EPOCH + seed * 1000, self.rng)
        self.host = Host(scenario.baseline, self.rng, scenario.busy)
        self.client = Client(scenario.baseline, self.clock, self.host, self.telemetry, self.rng)
        replicas = range(scenario.baseline.client.replicas)
        self.servers = [Server(self.clock, self.host, self.telemetry, self.rng) for _ in replicas]
        self.client.servers = self.servers
        self.dcgm, self.kernel = Dcgm(self.rng), KernelLog(self.telemetry)
        self.node = Source("node-agent", self._instance(), "opentelemetry.instrumentation.system_metrics")

    def windows(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Run it; the two windows in Unix seconds."""
        window_s = self.scenario.window_s
        for server in self.servers:
            server.boot(self.scenario.baseline, 0.0)
        for process in (self._scrape(), self._figures(), self._node(), self._device()):
            self.clock.start(process)
        now = READY_S + WARM_UP_S
        self.clock.start(self._arrivals(READY_S, now + window_s))
        self.clock.run(now + window_s)
        baseline = (now, now + window_s)
        if self.scenario.restart:
            self.clock.run(self.clock.now + DRAIN_S)
            self._restart()
        self.client.change(self.scenario.incident)
        self.host.phase = self.scenario.incident
        begin = self.clock.now
        self.clock.start(self._faults())
        self.clock.start(self._arrivals(begin, begin + window_s))
        self.clock.run(begin + window_s + DRAIN_S)
        epoch = self.telemetry.epoch
        return (epoch + baseline[0], epoch + baseline[1]), (epoch + begin, epoch + begin + window_s)

    def _restart(self) -> None:
        incident = self.scenario.incident
        for server in self.servers:
            server.stop()
        self.clock.run(self.clock.now + START_UP_S)
        for server in self.servers:
            server.fail_to_load(incident.engine) if incident.engine.broken_weights else server.boot(
                incident, START_UP_S
            )
        self.clock.run(self.clock.now + READY_S)

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
            for server in self.servers:
                server.scrape()
                self._hold_to_its_memory(server)
            yield SCRAPE_S

    def _hold_to_its_memory(self, server: Server) -> None:
        """The kernel ends whatever takes more memory than it may."""
        phase, engine = self.host.phase, server.engine
        limit = phase.engine.memory_limit
        if engine is not None and limit is not None and server.books.metrics.resident > limit:
            self.kernel.killed(self.clock.now, server.log.pid + 60, server.books.metrics.resident)
            server.die("", phase)

    def _faults(self) -> Process:
        """The GPU's own faults; each ends the engine that computes on it."""
        gpu = self.scenario.incident.gpu
        if gpu is None or not gpu.xid:
            return
        yield FAULT_S
        while True:
            self.dcgm.fault(gpu.xid)
            self.kernel.xid(self.clock.now, gpu.xid, self.servers[0].log.pid + 60)
            if self.servers[0].engine is not None:
                self.servers[0].die(ECC_ERROR, self.host.phase)
            yield FAULTS_S

    def _figures(self) -> Process:
        while True:
            yield FIGURES_S
            for server in self.servers:
                server.figures(FIGURES_S)

    def _device(self) -> Process:
        while (gpu := self.host.phase.gpu) is not None:
            stamp = self.telemetry.nano(self.clock.now) // 1_000_000
            shares = [s.engine.config.memory_share for s in self.servers if s.engine is not None]
            self.dcgm.scrape(stamp, gpu, self._spent(), sum(shares))
            yield dcgm.SCRAPE_S

    def _spent(self) -> np.ndarray:
        return np.asarray(np.sum([server.spent for server in self.servers], axis=0))

    def _node(self) -> Process:
        before = 0.0
        while True:
            yield SCRAPE_S
            busy, before = float(self._spent()[0]) - before, float(self._spent()[0])
            self.telemetry.metrics(self.node, self.clock.now, [self._cpu(min(busy / SCRAPE_S, 1.0))])
            if pooled := store_figures(self.client, self.telemetry.nano(self.clock.now)):
                self.telemetry.metrics(self.client.source, self.clock.now, pooled)

    def _cpu(self, engine_busy: float) -> dict[str, object]:
        now = str(self.telemetry.nano(self.clock.now))
        points = [
            {"timeUnixNano": now, "asDouble": value, "attributes": attributes({"state": state, "cpu": cpu})}
            for cpu, idle in enumerate(self.host.idle(engine_busy), 1)
            for state, value in (("idle", idle), ("user", 0.85 * (1 - idle)), ("system", 0.15 * (1 - idle)))
        ]
        return {"name": "system.cpu.utilization", "unit": "1", "gauge": {"dataPoints": points}}

    def _instance(self) -> str:
        return str(uuid.UUID(bytes=self.rng.bytes(16), version=4))


def write_capture(scenario: Scenario, folder: Path, seed: int) -> None:
    """Simulate and write; the same seed gives the same bytes."""
    run = Run(scenario, seed)
    baseline, incident = run.windows()
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "traces.jsonl", run.telemetry.trace_lines())
    _write(folder / "metrics.jsonl", run.telemetry.metric_lines())
    _write(folder / "logs.jsonl", run.telemetry.log_lines())
    for number, server in enumerate(run.servers):
        suffix = f"-{number}" if number else ""
        _write(folder / f"vllm{suffix}.log", server.log.lines)
        _write_pages(folder / f"scrape{suffix}", server.pages)
    if run.kernel.needed(scenario):
        _write(folder / "kernel.log", run.kernel.lines)
    if run.dcgm.pages:
        _write_pages(folder / "dcgm", run.dcgm.pages)
    truth = {
        "name": scenario.name, "id": scenario.truth, "also": list(scenario.also), "symptom": scenario.symptom,
        "truths": list(scenario.truths or (scenario.truth,)), "seed": seed, "baseline": baseline, "incident": incident,
    }  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


def _write_pages(folder: Path, pages: Mapping[int, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for stamp, page in pages.items():
        (folder / f"{stamp}.prom").write_bytes(page)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
