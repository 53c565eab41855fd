"""Are shared prompt prefixes computed again instead of being found in the cache?

With a shared system prompt most of each prompt is cached. Caching turned off, something unique at the head of the
prompt (a clock, an id), or eviction makes the engine compute every token again, at the same prompt length.
"""

from correlator.model.names import COMPUTED_TOKENS, DECODE, INPUT_TOKENS, PREFILL, PREFILL_PER_TOKEN, QUEUE
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    cached_less,
    changed,
    necessary,
    not_grown,
    separating,
    shifted,
    together,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="prefix_cache_collapse",
    claim="Prompt prefixes that used to be cached are computed again.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=PREFILL_PER_TOKEN,
    predictions=(
        necessary("cached_share_fell", cached_less(at_least=0.1)),
        necessary("prefill_per_token_rose", shifted(PREFILL_PER_TOKEN, UP, at_least=1.25)),
        necessary("prefill_accounts_for_it", accounts_for(PREFILL, QUEUE, DECODE, at_least=0.2)),
        separating("prompts_did_not_grow", not_grown(INPUT_TOKENS, within=1.25)),
        separating(
            "more_is_computed_of_the_same_prompts",
            together(shifted(COMPUTED_TOKENS, UP, at_least=1.25), not_grown(INPUT_TOKENS, within=1.25)),
        ),
        separating("caching_was_turned_off", changed("engine.enable_prefix_caching", kind="prefix caching")),
    ),
    upstream_of=("kv_cache_preemption",),
    rivals=("input_token_inflation", "model_change"),
    experiment=Experiment(
        id="prefix_reuse",
        why="The same prompt sent twice tells a cache that is off from prefixes that differ.",
        command="for i in 1 2; do time curl -so /dev/null localhost:8000/v1/completions --json @prompt.json; done",
        expect="with a working cache the second answer is clearly faster (max_tokens 1 in the request)",
        cost=1,
    ),
    remedy="Turn prefix caching on; move what is unique (time, ids) behind the shared part of the prompt.",
)
