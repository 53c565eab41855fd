"""Was another model, version or precision put in place, and does it cost more per token?

A larger model, another precision or an engine upgrade changes the time every token takes, for all requests alike,
at the moment of the change; the work asked for is the same.
"""

from correlator.model.names import DECODE, INPUT_TOKENS, OUTPUT_TOKENS, PREFILL, QUEUE, TIME_PER_OUTPUT_TOKEN
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    changed,
    necessary,
    not_grown,
    separating,
    shifted,
    together,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="model_change",
    claim="Another model, version or precision serves the requests, and every token costs more.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=TIME_PER_OUTPUT_TOKEN,
    predictions=(
        necessary(
            "it_changed",
            changed(
                "model",
                "engine.model",
                "engine.version",
                "engine.fingerprint",
                "engine.dtype",
                "engine.quantization",
                "engine.enforce_eager",
                "engine.tensor_parallel_size",
                "engine.speculative_config",
                kind="the model",
            ),
        ),
        necessary("every_token_costs_more", shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.25, statistic="median")),
        necessary("model_time_accounts_for_it", accounts_for(PREFILL, DECODE, QUEUE, at_least=0.2)),
        separating("cheapest_tokens_too", shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.25, statistic="p10")),
        separating(
            "work_per_request_did_not_grow",
            together(not_grown(INPUT_TOKENS, within=1.25), not_grown(OUTPUT_TOKENS, within=1.25)),
        ),
    ),
    upstream_of=("scheduler_concurrency_cap", "kv_cache_preemption", "retry_storm"),
    rivals=("recent_change", "prefix_cache_collapse", "host_cpu_contention"),
    experiment=Experiment(
        id="roll_one_replica_back",
        why="Old and new side by side under the same traffic settle it.",
        command="# run one replica with the previous model, version and flags behind the same load balancer",
        expect="time per output token on that replica is the baseline's",
        cost=3,
        risk=2,
    ),
    remedy="Roll back, or provision for the new cost per token before rolling out.",
)
