"""Are answers cut off at their length limit?

A lowered or too small max_tokens ends answers in mid-sentence; where a program reads them, JSON stops being JSON. The
finish reason says so, unless an adapter relabels it: then only the token count, equal to the limit, does.
"""

from correlator.model.names import CUT_ERROR, ERROR, MAX_TOKENS, OUTPUT_TOKENS, TRUNCATED
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    by_kind,
    necessary,
    rises_with,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="output_truncation",
    claim="Answers are cut off at their limit on output tokens.",
    explains=frozenset({Kind.QUALITY, Kind.ERRORS}),
    cause=TRUNCATED,
    predictions=(
        necessary("more_answers_end_at_their_limit", shifted_by(TRUNCATED, UP, at_least=0.05)),
        necessary("accounts_for_it", by_kind(accounts_for(TRUNCATED), {Kind.ERRORS: accounts_for(CUT_ERROR)})),
        separating("less_was_allowed", shifted(MAX_TOKENS, DOWN, at_least=1.1)),
        separating("longer_answers_met_the_same_limit", shifted(OUTPUT_TOKENS, UP, at_least=1.25)),
        separating("cut_answers_are_what_fails", rises_with(ERROR, TRUNCATED)),
    ),
    rivals=("model_change", "schema_mismatch", "output_token_inflation"),
    experiment=Experiment(
        id="raise_max_tokens",
        why="The same request with room to spare, at temperature 0, shows whether the limit cut the answer.",
        command=(
            "jq '.max_tokens *= 4 | .temperature = 0' request.json | curl -s localhost:8000/v1/chat/completions "
            "--json @- | jq '.choices[0].finish_reason, .usage'"
        ),
        expect="finish_reason turns from length to stop, and completion_tokens exceeds the old max_tokens",
        cost=1,
    ),
    remedy="Raise max_tokens where answers are read by programs; treat finish_reason=length as a failed answer.",
)
