"""The GPU beneath a world: `on_gpu(window(…), sm=0.5, then=gpu(sm=0.97))` adds what its sampler would have told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from correlator.model import names as n
from correlator.model.evidence import INCIDENT, Evidence
from tests.hypotheses.evidence import seen

GIB = 2.0**30
NOISE = 0.02


@dataclass(frozen=True)
class Gpu:
    """Means of one window: shares from 0 to 1, watts, MHz, degrees, bytes."""

    sm: float = 0.5
    dram: float = 0.4
    util: float = 0.9
    power: float = 350.0
    clock: float = 1980.0
    throttled: float = 0.0
    temperature: float = 55.0
    memory: float = 0.9
    others: float = 0.5 * GIB
    batch: float = 3.0
    engines: float = 1.0


def gpu(**means: float) -> Gpu:
    """An ordinary GPU, but for these means."""
    return replace(Gpu(), **means)


def on_gpu(evidence: Evidence, before: Gpu = Gpu(), then: Gpu | None = None) -> Evidence:
    """The evidence with the GPU's signals in its series; without `then` nothing changed on the GPU."""
    during = (evidence.series["period"] == INCIDENT).to_numpy()
    rng = np.random.default_rng(11)

    def told(name: str, share: bool = False) -> np.ndarray:
        mean = np.where(during, getattr(then or before, name), getattr(before, name))
        values = mean * rng.lognormal(0, NOISE, len(mean))
        return np.asarray(np.clip(values, 0, 1) if share else values)

    return seen(
        replace(
            evidence,
            series=evidence.series.assign(
                **{
                    n.SM_ACTIVE.name: told("sm", share=True),
                    n.DRAM_ACTIVE.name: told("dram", share=True),
                    n.GPU_UTIL.name: told("util", share=True),
                    n.GPU_POWER.name: told("power"),
                    n.GPU_SM_CLOCK.name: told("clock"),
                    n.GPU_THROTTLED.name: told("throttled", share=True),
                    n.GPU_TEMPERATURE.name: told("temperature"),
                    n.GPU_MEMORY_SHARE.name: told("memory", share=True),
                    n.GPU_OTHER_MEMORY.name: told("others"),
                    n.BATCH_SIZE.name: told("batch"),
                    n.ENGINES.name: told("engines"),
                }
            ),
        )
    )
