"""Do requests fail because their prompt exceeds the model's context?

The engine refuses a prompt whose tokens (with the answer's reserve) exceed max_model_len with HTTP 400 and
names the limit. Growing histories cross it one conversation at a time.
"""

from correlator.model.names import CONTEXT_ERROR, ERROR, INPUT_TOKENS, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    fitting_requests_succeed,
    necessary,
    occurs,
    refusals_exceed_context,
    rises_with,
    separating,
    shifted_by,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="context_overflow",
    claim="Prompts exceed the model's context length and are refused.",
    explains=frozenset({Kind.ERRORS, Kind.AVAILABILITY}),
    cause=CONTEXT_ERROR,
    predictions=(
        necessary(
            "errors_name_the_context_length",
            occurs(Events.CONTEXT_OVERFLOW, seen_by=frozenset({"error_texts"})),
        ),
        necessary("refusals_are_new", shifted_by(CONTEXT_ERROR, UP, at_least=0.02)),
        necessary("accounts_for_the_errors", accounts_for(CONTEXT_ERROR, at_least=0.2)),
        separating("most_errors_are_refusals", accounts_for(CONTEXT_ERROR, at_least=0.8)),
        separating("refused_prompts_exceed_the_maximum", refusals_exceed_context()),
        separating("requests_under_the_limit_do_not_fail", fitting_requests_succeed()),
        separating("long_prompts_fail", rises_with(ERROR, INPUT_TOKENS)),
    ),
    rivals=("retry_storm", "model_change", "schema_mismatch"),
    experiment=Experiment(
        id="tokenizer_boundary",
        why="The engine's own count of a refused prompt settles whether length is what is refused.",
        command="curl -s localhost:8000/tokenize --json @refused.json | jq .count,.max_model_len",
        expect="the count and the answer's reserve exceed max_model_len",
        cost=1,
    ),
    remedy="Trim or summarise history by tokens, not by messages; raise max_model_len if memory allows.",
)
