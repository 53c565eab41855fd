"""Worlds for `quantization_collapse`."""

from dataclasses import replace

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import ANSWER_SHORTFALL, DEGENERATE, INPUT_TOKENS, OUTPUT_TOKENS
from tests.hypotheses.evidence import Case, Served, fact, served, switched, unseen, window
from tests.hypotheses.failing import around, measured, now_and_then

QUANTIZED = switched("engine.quantization", "none", "awq_marlin")
SAME = switched("engine.quantization", "none", "none")


def marked(before: float, then: float, *, facts: tuple = QUANTIZED, world: Served | None = None) -> Evidence:  # type: ignore[type-arg]
    """An evaluator finds that answers lack so much, before the incident and in it."""
    return measured(window(served(), then=world or served(), facts=facts), {ANSWER_SHORTFALL: around(before, then)})


def alike(evidence: Evidence) -> Evidence:
    """Nothing tells one request from another."""
    return replace(evidence, requests=evidence.requests.filter(regex=r"^(?!attribute\.)"))


WORSE = marked(0.2, 0.45)
LOOPING = measured(
    window(served(), then=served(output_tokens=180), facts=QUANTIZED), {DEGENERATE: now_and_then(0, 0.3)}
)
LATE = (fact("engine.quantization", "none", -100), fact("engine.quantization", "awq_marlin", 90))

CASES = {
    "answers_are_marked_down_since_the_weights_have_four_bits": Case(WORSE, Verdict.SUPPORTED),
    "answers_loop_since_the_cache_is_in_eight_bits": Case(
        measured(
            window(served(), then=served(), facts=switched("engine.cache_dtype", "auto", "fp8")),
            {DEGENERATE: now_and_then(0, 0.3)},
        ),
        Verdict.SUPPORTED,
    ),
    "answers_loop_to_their_end": Case(LOOPING, Verdict.SUPPORTED),
    "answers_are_worse_at_the_same_precision": Case(
        marked(0.2, 0.45, facts=SAME), Verdict.REFUTED, by="the_precision_changed"
    ),
    "answers_were_worse_long_before_the_change": Case(
        marked(0.2, 0.45, facts=LATE), Verdict.REFUTED, by="it_began_with_the_change"
    ),
    "searches_come_back_empty_and_answers_are_as_good": Case(
        measured(
            window(served(), then=served(empty=0.4), facts=QUANTIZED),
            {ANSWER_SHORTFALL: around(0.2, 0.2), DEGENERATE: now_and_then(0, 0)},
        ),
        Verdict.REFUTED,
        by="answers_are_worse",
    ),
    "tokens_cost_more_since_the_change": Case(
        marked(0.2, 0.2, world=served(time_per_output_token=0.02)), Verdict.REFUTED, by="explains_the_symptom"
    ),
    "nobody_says_at_which_precision": Case(
        marked(0.2, 0.45, facts=()), Verdict.UNTESTABLE, missing="engine.quantization"
    ),
    "nobody_marks_the_answers": Case(unseen(WORSE, ANSWER_SHORTFALL), Verdict.UNTESTABLE, missing=ANSWER_SHORTFALL),
    "nothing_tells_it_from_its_rivals": Case(
        alike(unseen(WORSE, INPUT_TOKENS, OUTPUT_TOKENS)), Verdict.UNTESTABLE, missing=INPUT_TOKENS
    ),
}
