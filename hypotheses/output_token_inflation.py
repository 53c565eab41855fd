"""Do answers run longer than before?

Decode time is output tokens times time per token. A raised max_tokens, a changed prompt or a model that no
longer stops makes every answer longer while each token costs what it did.
"""

from correlator.model.names import DECODE, LATENCY, MAX_TOKENS, OUTPUT_TOKENS, TIME_PER_OUTPUT_TOKEN, TRUNCATED
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    either,
    necessary,
    not_grown,
    rises_with,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="output_token_inflation",
    claim="Answers grew longer, so each request spends longer in decode.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=OUTPUT_TOKENS,
    predictions=(
        necessary("answers_grew", shifted(OUTPUT_TOKENS, UP, at_least=1.25)),
        necessary("dose_response", rises_with(LATENCY, OUTPUT_TOKENS)),
        necessary("decode_accounts_for_it", accounts_for(DECODE, at_least=0.2)),
        separating("same_cost_per_token", not_grown(TIME_PER_OUTPUT_TOKEN, within=1.5, statistic="median")),
        separating("longer_answers_were_allowed", shifted(MAX_TOKENS, UP, at_least=1.25)),
        separating(
            "answers_end_otherwise",
            either(shifted_by(TRUNCATED, UP, at_least=0.1), shifted_by(TRUNCATED, DOWN, at_least=0.1)),
        ),
        separating("decode_follows_tokens", rises_with(DECODE, OUTPUT_TOKENS)),
    ),
    upstream_of=("kv_cache_preemption", "scheduler_concurrency_cap", "output_truncation"),
    rivals=("model_change", "traffic_surge"),
    experiment=Experiment(
        id="cap_max_tokens",
        why="A cap on one canary separates longer answers from slower tokens.",
        command="# on one canary: set max_tokens to the baseline's p90 of output tokens, compare decode time",
        expect="latency of the canary returns to the baseline",
    ),
    remedy="Set max_tokens per route; ask for brevity in the prompt; alert on output tokens per request.",
)
