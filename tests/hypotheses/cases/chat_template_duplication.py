"""Worlds for `chat_template_duplication`."""

import numpy as np
import pandas as pd

from correlator.model.evidence import INCIDENT, Evidence, Fact
from correlator.model.findings import Verdict
from correlator.model.names import ANSWER_SHORTFALL, INPUT_TOKENS, Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, fact, served, switched, unseen, window
from tests.hypotheses.failing import Made, around, measured

SHORT = served(input_tokens=60)
STARTED = tuple(fact(name, "x", at) for name in ("engine.model", "engine.version") for at in (-100.0, 1.0))
TEMPLATE = (*STARTED, fact("engine.chat_template", "template.jinja", 1))
WARNED = tuple(event(Events.SPECIAL_TOKENS_DOUBLED, after) for after in range(2, 110, 3))


def added(tokens: float, share: float = 0.0) -> Made:
    """Prompts of the incident with so many tokens more, and by so large a share of their own."""

    def made(rows: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
        return rows[INPUT_TOKENS.name] + (rows["period"] == INCIDENT) * (tokens + share * rows[INPUT_TOKENS.name])

    return made


def doubled(tokens: Made, *, facts: tuple[Fact, ...] = TEMPLATE, worse: float = 0.45, told: bool = False) -> Evidence:
    """Prompts with tokens added to them, whose answers an evaluator finds worse."""
    evidence = window(SHORT, then=SHORT, facts=facts, events=WARNED if told else ())
    return measured(evidence, {INPUT_TOKENS: tokens, ANSWER_SHORTFALL: around(0.2, worse)})


CONSTANT = doubled(added(60))

CASES = {
    "each_prompt_has_the_template_once_more": Case(CONSTANT, Verdict.SUPPORTED),
    "the_engine_warns_of_two_first_tokens": Case(doubled(added(1), facts=(), told=True), Verdict.SUPPORTED),
    "prompts_are_as_long_as_ever": Case(doubled(added(0)), Verdict.REFUTED, by="tokens_were_added_to_each"),
    "long_prompts_grew_by_more_than_short_ones": Case(
        doubled(added(0, 0.8)), Verdict.REFUTED, by="tokens_were_added_to_each"
    ),
    "searches_come_back_empty": Case(
        measured(
            window(served(), then=served(empty=0.4), facts=TEMPLATE, events=WARNED),
            {ANSWER_SHORTFALL: around(0.2, 0.2)},
        ),
        Verdict.REFUTED,
        by="answers_are_worse",
    ),
    "everything_is_slow": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="explains_the_symptom"),
    "prompts_were_not_counted": Case(unseen(CONSTANT, INPUT_TOKENS), Verdict.UNTESTABLE, missing=INPUT_TOKENS),
    "nobody_marks_the_answers": Case(
        unseen(doubled(added(60), told=True), ANSWER_SHORTFALL), Verdict.UNTESTABLE, missing=ANSWER_SHORTFALL
    ),
    "neither_log_nor_template_was_kept": Case(
        measured(
            window(served(), then=served(), watched=ALL_SOURCES - {"engine_log", "application_log"}),
            {INPUT_TOKENS: added(60), ANSWER_SHORTFALL: around(0.2, 0.45)},
        ),
        Verdict.UNTESTABLE,
        missing="engine_log",
    ),
    "the_precision_was_lowered_and_prompts_are_as_they_were": Case(
        doubled(added(0), facts=switched("engine.quantization", "none", "awq")),
        Verdict.REFUTED,
        by="tokens_were_added_to_each",
    ),
}
