"""What can go wrong: each fault is a function of its severity (1 is clear) that gives a scenario.

The names that begin with `healthy` are decoys: something happened, or nothing, and nothing is wrong. `A_and_B` are
two at once; where B is a decoy, it is there to be suspected in place of A.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lab.client_faults import CLIENT_FAULTS
from benchmarks.lab.engine_faults import ENGINE_FAULTS
from benchmarks.lab.healthy import HEALTHY
from benchmarks.lab.load_faults import LOAD_FAULTS
from benchmarks.lab.together import together
from benchmarks.lab.world import Scenario

Maker = Callable[[float], Scenario]

PAIRS = (
    ("retrieval_slow", 1.6, "kv_cache_preemption"),
    ("retrieval_slow", 0.12, "cuda_graphs_disabled"),
    ("rerank_slow", 1.0, "traffic_surge"),
    ("rerank_slow", 7.0, "gpu_throttling"),
    ("dependency_slow", 2.0, "output_token_inflation"),
    ("dependency_slow", 0.8, "input_token_inflation"),
    ("client_pool_exhaustion", 1.0, "retrieval_slow"),
    ("model_change", 1.0, "rerank_slow"),
    ("retrieval_slow", 1.0, "healthy_new_version"),
    ("traffic_surge", 1.0, "healthy_new_version"),
    ("host_cpu_contention", 1.0, "healthy_new_version"),
    ("input_token_inflation", 1.0, "healthy_restart"),
    ("kv_demand_grown", 1.0, "healthy_restart"),
    ("gpu_throttling", 1.0, "healthy_new_version"),
)
"""Two at once, the first so many times as severe that each of the two costs a request about as much."""


def _both(first: Maker, times: float, second: Maker) -> Maker:
    return lambda severity: together(first(times * severity), second(severity))


SINGLE: dict[str, Maker] = {maker.__name__: maker for maker in (*LOAD_FAULTS, *ENGINE_FAULTS, *CLIENT_FAULTS, *HEALTHY)}
FAULTS = SINGLE | {f"{one}_and_{other}": _both(SINGLE[one], times, SINGLE[other]) for one, times, other in PAIRS}
"""Every fault by its name."""
