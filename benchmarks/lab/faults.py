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
    ("retrieval_slow", "kv_cache_preemption"),
    ("retrieval_slow", "cuda_graphs_disabled"),
    ("rerank_slow", "traffic_surge"),
    ("rerank_slow", "gpu_throttling"),
    ("dependency_slow", "output_token_inflation"),
    ("vector_pool_exhaustion", "input_token_inflation"),
    ("client_pool_exhaustion", "retrieval_slow"),
    ("model_change", "rerank_slow"),
    ("retrieval_slow", "healthy_new_version"),
    ("traffic_surge", "healthy_new_version"),
    ("host_cpu_contention", "healthy_new_version"),
    ("input_token_inflation", "healthy_restart"),
    ("kv_demand_grown", "healthy_restart"),
    ("gpu_throttling", "healthy_new_version"),
)


def _both(first: Maker, second: Maker) -> Maker:
    return lambda severity: together(first(severity), second(severity))


SINGLE: dict[str, Maker] = {maker.__name__: maker for maker in (*LOAD_FAULTS, *ENGINE_FAULTS, *CLIENT_FAULTS, *HEALTHY)}
FAULTS = SINGLE | {f"{one}_and_{other}": _both(SINGLE[one], SINGLE[other]) for one, other in PAIRS}
"""Every fault by its name."""
