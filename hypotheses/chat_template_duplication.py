"""Is the chat template, or the token that begins a text, put before each prompt twice?

A client that renders the template sends the text to an endpoint that adds its special tokens once more; a template
names the first token, and the tokenizer adds it again. Prompts cost a constant more, and answers go astray.
"""

from correlator.model.names import INPUT_TOKENS, Events
from hypotheses import (
    Experiment,
    Hypothesis,
    Kind,
    answers_are_worse,
    changed,
    either,
    grew_by_a_constant,
    necessary,
    occurs,
    separating,
)  # fmt: skip

TOLD = occurs(Events.SPECIAL_TOKENS_DOUBLED, seen_by=frozenset({"engine_log", "application_log"}))
"""llama.cpp and its Python binding warn of it; other engines do not."""
MARKERS = 8
"""Tokens: the markers of one turn in the templates of most models. A lone first token only a warning shows."""
FACTS = ("engine.chat_template", "engine.tokenizer", "engine.version")

HYPOTHESIS = Hypothesis(
    id="chat_template_duplication",
    claim="Special tokens of the chat template stand in each prompt twice.",
    explains=frozenset({Kind.QUALITY}),
    cause=INPUT_TOKENS,
    predictions=(
        necessary(
            "tokens_were_added_to_each", either(grew_by_a_constant(INPUT_TOKENS, MARKERS), where_measured=[TOLD])
        ),
        necessary("answers_are_worse", answers_are_worse()),
        separating("the_engine_warns_of_it", TOLD),
        separating("template_or_tokenizer_changed", changed(*FACTS, kind="the chat template")),
    ),
    rivals=("quantization_collapse", "model_change", "prompt_truncation"),
    experiment=Experiment(
        id="print_token_ids",
        why="The first token ids of one prompt show whether the token that begins a text stands there twice.",
        command='curl -s localhost:8000/tokenize --json \'{"messages": [{"role": "user", "content": "hi"}]}\' '
        "| jq '.tokens[:8]'   # and with {\"prompt\": RENDERED_TEXT}, as the client sends it",
        expect="two equal ids at the beginning, or the template's markers twice",
    ),
    remedy="Send messages to the chat endpoint, or the rendered text with add_special_tokens=false; not both.",
)
