"""Do short prompts wait behind the prefill of long ones?

Without chunked prefill, or with a large token budget for each step, one long prompt takes a whole step and everybody
behind it waits. Short prompts then see their first token late just when a long one is ahead of them.
"""

from correlator.model.names import ARRIVAL_RATE, LONG_PREFILL_AHEAD, PREFILL, QUEUE, SHORT_FIRST_TOKEN
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    moved_to,
    necessary,
    not_grown,
    rises_with,
    separating,
    set_to,
    shifted,
    shifted_by,
    spares_unmarked,
)  # fmt: skip

BUDGET = "engine.max_num_batched_tokens"

HYPOTHESIS = Hypothesis(
    id="prefill_head_of_line",
    claim="The prefill of long prompts holds up short ones, which get their first token late.",
    explains=frozenset({Kind.LATENCY}),
    cause=LONG_PREFILL_AHEAD,
    predictions=(
        necessary("short_prompts_wait", shifted(SHORT_FIRST_TOKEN, UP, at_least=1.3)),
        necessary("they_wait_for_the_long_one", rises_with(SHORT_FIRST_TOKEN, LONG_PREFILL_AHEAD)),
        necessary("others_are_spared", spares_unmarked(LONG_PREFILL_AHEAD, SHORT_FIRST_TOKEN)),
        necessary("waiting_accounts_for_it", accounts_for(QUEUE, PREFILL, at_least=0.2)),
        separating("long_prompts_are_new", shifted_by(LONG_PREFILL_AHEAD, UP, at_least=100)),
        separating("chunking_was_turned_off", set_to("engine.chunked_prefill", "False", kind="chunked prefill")),
        separating("the_budget_was_raised", moved_to(BUDGET, "the token budget of a step", lower=False)),
        separating("traffic_did_not_grow", not_grown(ARRIVAL_RATE, within=1.4)),
    ),
    rivals=("traffic_surge", "input_token_inflation"),
    experiment=Experiment(
        id="enable_chunked_prefill",
        why="A canary that cuts prefill into small chunks shows whether long prompts hold the short ones up.",
        command="vllm serve … --enable-chunked-prefill --max-num-batched-tokens 2048   # on one canary",
        expect="time to first token of short prompts no longer follows the longest prompt in prefill",
        cost=2,
        risk=2,
    ),
    remedy="Turn chunked prefill on, lower --max-num-batched-tokens, or serve long prompts from replicas of their own.",
)
