"""Did more requests arrive than the engine can serve at the usual speed?

Batching hides some extra load; beyond that, time per token and queue grow with the arrival rate. Work per request
stays what it was: it is the number that grew.
"""

from correlator.model.names import (
    ARRIVAL_RATE,
    DECODE,
    GENERATION_THROUGHPUT,
    INPUT_TOKENS,
    KV_CACHE_CAPACITY,
    LATENCY,
    NETWORK,
    OUTPUT_TOKENS,
    PREFILL,
    QUEUE,
)  # fmt: skip
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    levels_off,
    necessary,
    not_fallen,
    not_grown,
    not_lowered,
    rises_with,
    separating,
    shifted,
    together,
)  # fmt: skip

SAME_WORK = together(not_grown(INPUT_TOKENS, within=1.25), not_grown(OUTPUT_TOKENS, within=1.25))

HYPOTHESIS = Hypothesis(
    id="traffic_surge",
    claim="More requests arrive than the service can answer at its usual speed.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT, Kind.ERRORS}),
    cause=ARRIVAL_RATE,
    predictions=(
        necessary("arrivals_grew", shifted(ARRIVAL_RATE, UP, at_least=1.4)),
        necessary("dose_response", rises_with(LATENCY, ARRIVAL_RATE)),
        necessary("engine_accounts_for_it", accounts_for(QUEUE, PREFILL, DECODE, NETWORK, at_least=0.2)),
        separating("work_per_request_did_not_grow", SAME_WORK),
        separating(
            "nor_did_capacity_fall",
            together(SAME_WORK, not_fallen(KV_CACHE_CAPACITY, within=1.25), not_lowered("engine.max_num_seqs")),
        ),
        separating(
            "throughput_rose_to_its_plateau",
            together(
                shifted(GENERATION_THROUGHPUT, UP, at_least=1.1),
                levels_off(GENERATION_THROUGHPUT, ARRIVAL_RATE),
            ),
        ),
    ),
    upstream_of=(
        "kv_cache_preemption",
        "scheduler_concurrency_cap",
        "client_pool_exhaustion",
        "vector_pool_exhaustion",
        "host_cpu_contention",
        "retry_storm",
    ),
    rivals=("retry_storm", "scheduler_concurrency_cap", "kv_cache_preemption", "replica_imbalance"),
    experiment=Experiment(
        id="replay_old_rate",
        why="The same requests at the old rate against one replica show whether the rate alone is too much.",
        command="# replay the incident's requests at the old arrival rate against one replica out of rotation",
        expect="latency returns to the baseline",
        cost=3,
    ),
    remedy="Add replicas, shed or queue low-priority load at the gateway, find the tenant that sends more.",
)
