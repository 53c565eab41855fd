"""Did prompts grow, and prefill work with them?

Prefill time is close to linear in prompt tokens, and while one long prompt is prefilled every running request
of the batch waits for its next token. Chat history, retrieved passages and tool results grow unnoticed.
"""

from correlator.model.names import (
    DECODE,
    INPUT_TOKENS,
    LATENCY,
    OUTPUT_TOKENS,
    PREFILL,
    PREFILL_PER_TOKEN,
    QUEUE,
)
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    necessary,
    not_grown,
    rises_with,
    separating,
    shifted,
    spares,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="input_token_inflation",
    claim="Prompts grew, so each request spends longer in prefill and delays the others in its batch.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=INPUT_TOKENS,
    predictions=(
        necessary("prompts_grew", shifted(INPUT_TOKENS, UP, at_least=1.25)),
        necessary("dose_response", rises_with(LATENCY, INPUT_TOKENS)),
        necessary("prefill_accounts_for_it", accounts_for(PREFILL, QUEUE, DECODE, at_least=0.2)),
        separating("prefill_follows_tokens", rises_with(PREFILL, INPUT_TOKENS)),
        separating("same_cost_per_token", not_grown(PREFILL_PER_TOKEN, within=1.5, statistic="median")),
        separating("answers_did_not_grow", not_grown(OUTPUT_TOKENS, within=1.25)),
        separating("short_prompts_spared", spares(INPUT_TOKENS.below_baseline_p90)),
    ),
    upstream_of=("kv_cache_preemption", "context_overflow", "scheduler_concurrency_cap", "prefill_head_of_line"),
    rivals=("prefix_cache_collapse", "traffic_surge"),
    experiment=Experiment(
        id="replay_request",
        why="One long prompt and the same one trimmed, sent while the service is quiet, show the prefill cost.",
        command="time curl -so /dev/null localhost:8000/v1/completions --json @long.json   # then @trimmed.json",
        expect="time to first token falls in step with the tokens removed",
    ),
    remedy="Cap or summarise history and retrieved passages; alert on input tokens; enable prefix caching.",
)
