"""Does a request wait that needs more KV blocks than the whole pool has?

An engine that lets in requests longer than its pool can hold has one that never gets its blocks. It stands at the head
of the queue for ever, and those behind it wait with it, while the pool is all but empty.
"""

from correlator.model.names import INPUT_TOKENS, KV_CACHE_USAGE, REQUESTED_TOKENS, RUNNING, WAITING
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    either,
    exceeds,
    larger,
    necessary,
    reaches,
    separating,
    shifted,
    shifted_by,
    stays_below,
)  # fmt: skip

POOL = "engine.kv_cache_tokens"

HYPOTHESIS = Hypothesis(
    id="request_larger_than_kv_pool",
    claim="A request needs more KV blocks than the pool has, waits for ever and blocks all behind it.",
    explains=frozenset({Kind.AVAILABILITY, Kind.LATENCY, Kind.ERRORS, Kind.THROUGHPUT}),
    cause=WAITING,
    predictions=(
        necessary("requests_wait", reaches(WAITING, 0.5)),
        necessary("waiting_is_new", shifted_by(WAITING, UP, at_least=0.5)),
        necessary("kv_cache_is_not_full", stays_below(KV_CACHE_USAGE, 0.8, while_positive=WAITING)),
        necessary("nothing_is_let_run", shifted(RUNNING, DOWN, at_least=2.0)),
        necessary("larger_requests_are_let_in", larger("engine.max_model_len", than=POOL)),
        separating("a_request_exceeds_the_pool", either(exceeds(REQUESTED_TOKENS, POOL), exceeds(INPUT_TOKENS, POOL))),
        separating("the_pool_is_all_but_empty", stays_below(KV_CACHE_USAGE, 0.1, while_positive=WAITING)),
    ),
    rivals=("kv_cache_preemption", "scheduler_concurrency_cap"),
    experiment=Experiment(
        id="compare_with_pool",
        why="The start-up line on the pool's size against what the engine lets in settles whether a request can wait.",
        command="grep -hE 'KV cache size|max_model_len|# GPU blocks' vllm.log | tail -3",
        expect="the pool holds fewer tokens than max_model_len; a restart without the long request serves again",
    ),
    remedy="Lower --max-model-len to what the pool holds, or give it more memory; reject such requests at the gateway.",
)
