"""Worlds for `context_overflow`."""

from dataclasses import replace

from correlator.model.evidence import Coverage
from correlator.model.findings import Verdict
from correlator.model.names import CONTEXT_ERROR
from tests.hypotheses.evidence import Case, fact, served, unseen, window

LIMIT = 1000
OVERFLOW = window(served(context_limit=LIMIT), then=served(context_limit=LIMIT, input_tokens=700))
FAILING = window(served(), then=served(errors=0.3))
KNOWN = (fact("engine.max_model_len", "1256", -100),)
"""Prompts of more than 1000 tokens leave no room for the answer's 256."""

CASES = {
    "refused_prompts_exceed_the_known_maximum": Case(
        window(served(context_limit=LIMIT), then=served(context_limit=LIMIT, input_tokens=700), facts=KNOWN),
        Verdict.SUPPORTED,
    ),
    "long_prompts_are_refused": Case(OVERFLOW, Verdict.SUPPORTED),
    "requests_fail_for_another_reason": Case(FAILING, Verdict.REFUTED, by="errors_name_the_context_length"),
    "a_few_refusals_among_many_other_failures": Case(
        window(served(), then=served(context_limit=600, errors=0.4)),
        Verdict.REFUTED,
        by="accounts_for_the_errors",
    ),
    "failures_without_anything_that_names_them": Case(
        replace(unseen(FAILING, CONTEXT_ERROR), coverage=Coverage()), Verdict.UNTESTABLE, missing="error_texts"
    ),
    "refusals_not_tied_to_requests": Case(unseen(OVERFLOW, CONTEXT_ERROR), Verdict.UNTESTABLE, missing=CONTEXT_ERROR),
    "everything_is_slow_and_nothing_fails": Case(
        window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="explains_the_symptom"
    ),
}
