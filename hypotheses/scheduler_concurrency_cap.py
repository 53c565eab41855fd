"""Do requests queue for a place in the batch while the engine has room?

max_num_seqs bounds how many requests run together. Where it is lower than the load needs, requests wait although
the KV cache is far from full: the limit, not the machine, is the bottleneck.
"""

from correlator.model.names import KV_CACHE_USAGE, QUEUE, RUNNING_WHILE_WAITING, WAITING
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    lowered,
    necessary,
    plateaus,
    reaches,
    separating,
    shifted_by,
    sits_at,
    stays_below,
)  # fmt: skip

DEFAULT = 128
"""vLLM's least default of max_num_seqs; by hardware and version it is 128 to 1024."""

HYPOTHESIS = Hypothesis(
    id="scheduler_concurrency_cap",
    claim="The engine's limit on concurrent requests makes requests queue although it has room.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=QUEUE,
    predictions=(
        necessary("queue_accounts_for_it", accounts_for(QUEUE, at_least=0.2)),
        necessary("requests_wait", reaches(WAITING, 0.5)),
        necessary("running_sits_at_a_cap", plateaus(RUNNING_WHILE_WAITING, while_positive=WAITING)),
        necessary("kv_cache_is_not_full", stays_below(KV_CACHE_USAGE, 0.8, while_positive=WAITING)),
        separating("cap_was_lowered", lowered("engine.max_num_seqs", "the limit on concurrent requests", DEFAULT)),
        separating("running_sits_at_max_num_seqs", sits_at(RUNNING_WHILE_WAITING, "engine.max_num_seqs")),
        separating("waiting_is_new", shifted_by(WAITING, UP, at_least=0.5)),
    ),
    rivals=("traffic_surge", "kv_cache_preemption", "request_larger_than_kv_pool", "replica_imbalance"),
    experiment=Experiment(
        id="raise_max_num_seqs",
        why="A canary with a higher limit shows whether the limit or the machine is the bottleneck.",
        command="vllm serve … --max-num-seqs 256   # on one canary; watch vllm:num_requests_waiting",
        expect="waiting falls to zero on the canary while KV usage stays below 0.9",
        cost=2,
        risk=2,
    ),
    remedy="Raise max_num_seqs while KV usage and time per token allow; otherwise add a replica.",
)
