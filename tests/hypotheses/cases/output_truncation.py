"""Worlds for `output_truncation`."""

from correlator.model.evidence import Kind
from correlator.model.findings import Verdict
from correlator.model.names import CUT_ERROR, ERROR, MAX_TOKENS, OUTPUT_TOKENS, TRUNCATED
from tests.hypotheses.evidence import Case, served, unseen, window
from tests.hypotheses.failing import measured, telling

LOWERED = window(served(truncated=0.02), then=served(truncated=0.3, max_tokens=128))
UNREADABLE = "json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 14 (char 13)"
FAILING = telling(window(served(), then=served(errors=0.3)), UNREADABLE)
CHOPPED = measured(FAILING, {TRUNCATED: lambda rows, rng: (rows[CUT_ERROR.name] > 0) | (rng.random(len(rows)) < 0.02)})
OTHERWISE = measured(
    telling(window(served(), then=served(errors=0.3)), "model is overloaded"),
    {TRUNCATED: lambda rows, rng: rng.random(len(rows)) < 0.02},
)

CASES = {
    "the_limit_was_lowered": Case(LOWERED, Verdict.SUPPORTED),
    "answers_grew_into_the_limit": Case(
        window(served(truncated=0.02), then=served(truncated=0.3, output_tokens=110), kind=Kind.QUALITY),
        Verdict.SUPPORTED,
    ),
    "cut_answers_cannot_be_parsed": Case(CHOPPED, Verdict.SUPPORTED),
    "requests_fail_with_whole_answers": Case(OTHERWISE, Verdict.REFUTED, by="more_answers_end_at_their_limit"),
    "broken_json_that_was_not_cut": Case(
        measured(FAILING, {TRUNCATED: lambda rows, _: 0 * rows[ERROR.name]}),
        Verdict.REFUTED,
        by="more_answers_end_at_their_limit",
    ),
    "searches_come_back_empty": Case(
        window(served(truncated=0.02), then=served(truncated=0.02, empty=0.4)),
        Verdict.REFUTED,
        by="accounts_for_it",
    ),
    "everything_is_slow": Case(
        window(served(truncated=0.02), then=served(truncated=0.02, queue=0.6)), Verdict.REFUTED, by="explains"
    ),
    "neither_reason_nor_limit_was_told": Case(unseen(LOWERED, TRUNCATED), Verdict.UNTESTABLE, missing=TRUNCATED),
    "failures_that_do_not_say_why": Case(unseen(CHOPPED, CUT_ERROR), Verdict.UNTESTABLE, missing=CUT_ERROR),
    "nobody_knows_what_was_allowed": Case(
        unseen(LOWERED, MAX_TOKENS, OUTPUT_TOKENS, ERROR), Verdict.UNTESTABLE, missing=MAX_TOKENS
    ),
}
