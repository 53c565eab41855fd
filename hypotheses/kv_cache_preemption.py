"""Is the pool of KV-cache blocks full, so that requests wait for blocks or are evicted?

A full pool makes the scheduler hold new requests back or preempt running ones: swapped out and back in vLLM V0,
dropped and recomputed in V1. Fewer blocks, longer requests or more of them fill it.
"""

from correlator.model.names import (
    ARRIVAL_RATE,
    DECODE,
    INPUT_TOKENS,
    KV_CACHE_CAPACITY,
    KV_CACHE_USAGE,
    KV_PRESSURE,
    LATENCY,
    OUTPUT_TOKENS,
    PREEMPTIONS,
    PREFILL,
    QUEUE,
    TIME_PER_OUTPUT_TOKEN,
)  # fmt: skip
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    either,
    necessary,
    reaches,
    rises_with,
    separating,
    shifted,
    shifted_by,
    together,
)  # fmt: skip

PRESSED = shifted_by(KV_PRESSURE, UP, at_least=0.05)
EVICTED_MORE = together(shifted_by(PREEMPTIONS, UP, at_least=0.02), shifted(PREEMPTIONS, UP, at_least=1.25))
"""A pool that was full all the time before can only show it by evicting more."""
TOKENS_WAIT = rises_with(TIME_PER_OUTPUT_TOKEN, PREEMPTIONS)

HYPOTHESIS = Hypothesis(
    id="kv_cache_preemption",
    claim="The KV-cache pool is full: requests wait for blocks or are evicted and done again.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=KV_PRESSURE,
    predictions=(
        necessary("pool_is_full", reaches(KV_CACHE_USAGE, 0.9)),
        necessary("pressure_is_new", either(PRESSED, where_measured=[EVICTED_MORE])),
        necessary("dose_response", either(rises_with(LATENCY, KV_PRESSURE), where_measured=[TOKENS_WAIT])),
        necessary("accounts_for_it", accounts_for(QUEUE, DECODE, PREFILL, at_least=0.2)),
        separating("pool_shrank", shifted(KV_CACHE_CAPACITY, DOWN, at_least=1.25)),
        separating(
            "demand_grew",
            either(
                shifted(INPUT_TOKENS, UP, at_least=1.25),
                shifted(OUTPUT_TOKENS, UP, at_least=1.25),
                shifted(ARRIVAL_RATE, UP, at_least=1.4),
            ),
        ),
        separating("requests_were_evicted", shifted_by(PREEMPTIONS, UP, at_least=0.02)),
    ),
    rivals=("traffic_surge", "scheduler_concurrency_cap", "request_larger_than_kv_pool", "structured_output_cost"),
    experiment=Experiment(
        id="raise_kv_space",
        why="One replica with more KV space (or fewer sequences) shows whether blocks are what is missing.",
        command="vllm serve … --gpu-memory-utilization 0.95   # or a lower --max-num-seqs; watch preemptions",
        expect="preemptions and waiting with a full pool stop on that replica, its latency returns",
        cost=3,
        risk=2,
    ),
    remedy="Give the pool more memory, shorten requests, lower max_num_seqs, or add a replica.",
)
