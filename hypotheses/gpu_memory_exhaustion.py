"""Did the GPU run out of memory?

An allocation that fails ends a request, or the engine. Who holds the memory decides what to do: the engine itself, a
leftover of an earlier process, or a co-tenant.
"""

from correlator.model.names import ERROR, GPU_MEMORY_SHARE, GPU_OTHER_MEMORY, KV_CACHE_USAGE, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    either,
    engine_is_down,
    necessary,
    occurs,
    reaches,
    separating,
    shifted_by,
    together,
)  # fmt: skip

TOLD = occurs(Events.OUT_OF_MEMORY, seen_by=frozenset({"engine_log", "error_texts"}))
FILLED = together(reaches(GPU_MEMORY_SHARE, 0.95), shifted_by(GPU_MEMORY_SHARE, UP, at_least=0.02))
"""An engine reserves nine tenths by default, for good: only what came on top counts."""

HYPOTHESIS = Hypothesis(
    id="gpu_memory_exhaustion",
    claim="The GPU ran out of memory, and what asked for more of it failed.",
    explains=frozenset({Kind.AVAILABILITY, Kind.ERRORS}),
    cause=ERROR,
    predictions=(
        necessary("memory_ran_out", either(TOLD, where_measured=[FILLED])),
        necessary("requests_fail", either(shifted_by(ERROR, UP, at_least=0.02), where_measured=[engine_is_down()])),
        separating("an_allocation_failed", TOLD),
        separating("others_hold_it", shifted_by(GPU_OTHER_MEMORY, UP, at_least=2**30)),
        separating("memory_filled_up", FILLED),
        separating("the_kv_pool_was_full", reaches(KV_CACHE_USAGE, 0.95)),
    ),
    rivals=("gpu_cotenant", "gpu_hardware_fault", "memory_growth", "model_load_failure"),
    experiment=Experiment(
        id="gpu_processes",
        why="The processes on the GPU with their memory tell the engine's own growth from a leftover or a tenant.",
        command="nvidia-smi --query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_memory --format=csv",
        expect="the sum of the engine's own processes is what fills the GPU, or another process holds the rest",
        cost=1,
    ),
    remedy="End leftovers, move the tenant, lower --gpu-memory-utilization or --max-num-seqs, shorten prompts.",
)
