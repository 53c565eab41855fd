"""Is the GPU's memory in pieces that are each too small?

PyTorch keeps freed memory in segments. Where lengths vary, what is free lies in many pieces: a large allocation fails
though enough is held, the cached segments are given back, which waits for the GPU, and all is asked for once more.
"""

from correlator.model.names import ALLOCATION_RETRIES, ERROR, GPU_MEMORY_USED, LATENCY
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    by_kind,
    either,
    engine_is_down,
    enough_was_reserved,
    necessary,
    not_grown,
    rises_with,
    separating,
    shifted_by,
)  # fmt: skip

MORE_RETRIES = shifted_by(ALLOCATION_RETRIES, UP, at_least=1 / 60)
ENOUGH = enough_was_reserved(seen_by=frozenset({"engine_log", "error_texts"}))
FAILS = either(shifted_by(ERROR, UP, at_least=0.02), where_measured=[engine_is_down()])

HYPOTHESIS = Hypothesis(
    id="gpu_memory_fragmentation",
    claim="GPU memory is held in pieces that no large allocation fits into.",
    explains=frozenset({Kind.LATENCY, Kind.AVAILABILITY, Kind.ERRORS}),
    cause=ALLOCATION_RETRIES,
    predictions=(
        necessary("large_allocations_fail", by_kind(MORE_RETRIES, {Kind.ERRORS: ENOUGH})),
        necessary("requests_stall_or_fail", by_kind(rises_with(LATENCY, ALLOCATION_RETRIES), {Kind.ERRORS: FAILS})),
        separating("they_stall_when_it_retries", rises_with(LATENCY, ALLOCATION_RETRIES, in_incident=True)),
        separating("memory_in_use_did_not_grow", not_grown(GPU_MEMORY_USED, within=1.05)),
        separating("enough_was_held_unused", ENOUGH),
    ),
    upstream_of=("gpu_memory_exhaustion",),
    rivals=("gpu_memory_exhaustion", "memory_growth", "gpu_cotenant"),
    experiment=Experiment(
        id="allocator_statistics",
        why="The allocator's own counts tell memory in pieces from memory in use.",
        command='python -c \'import torch; s = torch.cuda.memory_stats(); print(s["num_alloc_retries"], '
        '[s[name + ".all.current"] for name in ("reserved_bytes", "allocated_bytes", "inactive_split_bytes")])\''
        "   # within the serving process",
        expect="retries go on rising, and inactive_split_bytes is a large share of what is reserved",
    ),
    remedy="Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, leave more memory free, bound the largest batch.",
)
