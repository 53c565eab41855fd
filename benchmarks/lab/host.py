"""The machine both sides share: its speed drifts from block to block, and other tenants take its CPU."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

from benchmarks.lab.world import Phase

BLOCK_S = 10.0
DRIFT_SD, DRIFT_MEMORY = 0.13, 0.6
"""Recorded windows of one machine differ by 23 % either way: AR(1) in logarithms."""
SLICE_S = 0.025
"""What a thread waits when another has its core; the service's own open calls make it longer."""


class Host:
    """Time that work takes. `phase` is set anew when the world changes."""

    def __init__(self, phase: Phase, rng: np.random.Generator, busy: float | None) -> None:
        self.phase = phase
        self.rng = rng
        self.busy = float(rng.uniform(0.35, 0.9)) if busy is None else busy
        self.calls = 0
        self._drift = [float(rng.normal(0, DRIFT_SD))]

    def slowness(self, now: float) -> float:
        """Machine time per unit of work, 1 on average."""
        block = int(now / BLOCK_S)
        while len(self._drift) <= block:
            shock = self.rng.normal(0, DRIFT_SD * sqrt(1 - DRIFT_MEMORY**2))
            self._drift.append(DRIFT_MEMORY * self._drift[-1] + float(shock))
        return self.phase.speed * exp(self._drift[block])

    def takes(self, now: float, work_s: float, switches: int) -> float:
        """Seconds that client work takes: the work, and a wait at each switch that finds the core taken."""
        calls = min(max(self.calls - 1, 0), 5)
        chance = min(0.02 + 0.1 * self.busy**4 + 0.05 * calls + 0.3 * self.phase.contention, 0.7)
        waits = self.rng.exponential(SLICE_S * (1 + 0.4 * calls), int(self.rng.binomial(switches, chance))).sum()
        return float(work_s * self.slowness(now) * self.rng.lognormal(0, 0.35) + waits)

    def idle(self, engine_busy: float) -> tuple[float, float]:
        """Idle share of the client's core and of the engine's."""
        others = np.clip(self.busy + 0.8 * self.phase.contention + self.rng.normal(0, 0.08), 0, 1)
        client = max(0.0, 1 - others - 0.02 * self.calls)
        return float(client), float(max(0.0, 1 - 0.3 * self.busy - self.phase.contention - engine_busy))
