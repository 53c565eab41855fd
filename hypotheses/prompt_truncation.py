"""Are prompts silently cut to what a tokenizer or an engine lets through?

Some servers refuse a prompt that is too long; others cut it, and answer what is left of the question. Nothing fails:
only the counts give it away, since all long prompts then have the very same number of tokens.
"""

from correlator.model.names import PROMPT_AT_LIMIT, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    answers_are_worse,
    moved_to,
    necessary,
    occurs,
    separating,
    shifted_by,
    spares_other_answers,
    worse_answers_where,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="prompt_truncation",
    claim="Long prompts are cut to a limit, and their answers suffer.",
    explains=frozenset({Kind.QUALITY}),
    cause=PROMPT_AT_LIMIT,
    predictions=(
        necessary("more_prompts_have_one_greatest_length", shifted_by(PROMPT_AT_LIMIT, UP, at_least=0.05)),
        necessary("answers_are_worse", answers_are_worse()),
        necessary("worse_for_those", worse_answers_where(PROMPT_AT_LIMIT)),
        separating("others_are_spared", spares_other_answers(PROMPT_AT_LIMIT)),
        separating("the_log_tells_of_it", occurs(Events.PROMPT_TRUNCATED, seen_by=frozenset({"engine_log"}))),
        separating("less_is_let_through", moved_to("engine.max_model_len", kind="the context", lower=True)),
    ),
    rivals=("empty_retrieval", "context_overflow", "chat_template_duplication", "semantic_drift"),
    experiment=Experiment(
        id="tokenizer_boundary",
        why="A text cut by the tokenizer has offsets that end before the text does.",
        command="# tokenize a long prompt of the incident, compare the last token's offset with the text's length; ask "
        "for a fact that stands only in its last sentence, then for one in its first",
        expect="the offsets end early, and the fact behind them is not known",
    ),
    remedy="Raise the context (num_ctx, --max-model-len), chunk or trim by meaning, and refuse rather than cut.",
)
