"""Was another model, version or precision put in place, and does it cost more per token?

A larger model, another precision or an engine upgrade changes the time every token takes, for all requests alike,
at the moment of the change; the work asked for is the same.
"""

from correlator.model.names import (
    DECODE,
    INPUT_TOKENS,
    MODEL_ERROR,
    OUTPUT_TOKENS,
    PREFILL,
    QUEUE,
    TIME_PER_OUTPUT_TOKEN,
    TRUNCATED,
)
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    began_with_change,
    by_kind,
    changed,
    hits_all_alike,
    necessary,
    not_grown,
    separating,
    shifted,
    together,
)  # fmt: skip

FACTS = (
    "model", "engine.model", "engine.version", "engine.fingerprint", "engine.dtype", "engine.quantization",
    "engine.tensor_parallel_size", "engine.speculative_config",
)  # fmt: skip
DEARER = shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.25, statistic="median")
DEARER_EVEN_AT_BEST = shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.25, statistic="p10")
BEGAN, ALIKE = began_with_change(*FACTS), hits_all_alike()
PRECISION = ("engine.dtype", "engine.quantization")
OTHER_MODEL = changed(*(fact for fact in FACTS if fact not in PRECISION), kind="the model")
"""Of bad answers: what precision alone does to them is a cause of its own."""
FAILS = {Kind.ERRORS: accounts_for(MODEL_ERROR), Kind.QUALITY: accounts_for(TRUNCATED)}

HYPOTHESIS = Hypothesis(
    id="model_change",
    claim="Another model, version or precision serves the requests, and it is slower, fails or answers otherwise.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT, Kind.ERRORS, Kind.QUALITY}),
    cause=TIME_PER_OUTPUT_TOKEN,
    predictions=(
        necessary("it_changed", by_kind(changed(*FACTS, kind="the model"), {Kind.QUALITY: OTHER_MODEL})),
        necessary("it_shows_from_the_change_on", by_kind(DEARER, {Kind.ERRORS: BEGAN, Kind.QUALITY: BEGAN})),
        necessary("model_accounts_for_it", by_kind(accounts_for(PREFILL, DECODE, QUEUE), FAILS)),
        separating(
            "even_at_best_or_for_all_alike", by_kind(DEARER_EVEN_AT_BEST, {Kind.ERRORS: ALIKE, Kind.QUALITY: ALIKE})
        ),
        separating(
            "work_per_request_did_not_grow",
            together(not_grown(INPUT_TOKENS, within=1.25), not_grown(OUTPUT_TOKENS, within=1.25)),
        ),
    ),
    upstream_of=(
        "scheduler_concurrency_cap",
        "kv_cache_preemption",
        "retry_storm",
        "speculative_acceptance_drop",
        "output_truncation",
    ),
    rivals=("recent_change", "prefix_cache_collapse", "host_cpu_contention", "cuda_graphs_disabled", "schema_mismatch"),
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
