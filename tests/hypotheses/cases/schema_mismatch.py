"""Worlds for `schema_mismatch`."""

from dataclasses import replace

from correlator.model.findings import Verdict
from correlator.model.names import SCHEMA_ERROR
from tests.hypotheses.evidence import Case, served, switched, unseen, window
from tests.hypotheses.failing import telling

FORBIDDEN = "1 validation error for SystemMessage: injected: Extra inputs are not permitted (type=extra_forbidden)"
NEWER = switched("service.version", "2.6.2", "2.7.0")
REFUSED = telling(window(served(), then=served(errors=0.4), facts=NEWER), FORBIDDEN)
CUT = "1 validation error for Answer: Invalid JSON: EOF while parsing a string at line 1 column 80"

CASES = {
    "a_new_client_sends_a_forbidden_field": Case(REFUSED, Verdict.SUPPORTED),
    "requests_fail_for_another_reason": Case(
        telling(window(served(), then=served(errors=0.4), facts=NEWER), "model is overloaded"),
        Verdict.REFUTED,
        by="validation_fails_more_often",
    ),
    "a_few_invalid_messages_among_many_other_failures": Case(
        telling(window(served(), then=served(errors=0.6), facts=NEWER), FORBIDDEN, share=0.08),
        Verdict.REFUTED,
        by="accounts_for_the_errors",
    ),
    "the_schema_refuses_cut_answers": Case(
        telling(window(served(), then=served(errors=0.4), facts=NEWER), CUT),
        Verdict.REFUTED,
        by="validation_fails_more_often",
    ),
    "no_version_is_known": Case(replace(REFUSED, facts=()), Verdict.UNTESTABLE, missing="service.version"),
    "failures_that_do_not_say_why": Case(unseen(REFUSED, SCHEMA_ERROR), Verdict.UNTESTABLE, missing=SCHEMA_ERROR),
    "everything_is_slow": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="explains_the_symptom"),
}
