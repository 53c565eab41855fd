"""Worlds for `output_token_inflation`."""

from correlator.model.findings import Verdict
from correlator.model.names import OUTPUT_TOKENS
from tests.hypotheses.evidence import Case, served, unseen, window

GREW = window(served(), then=served(output_tokens=200, max_tokens=1024))

CASES = {
    "answers_grew": Case(GREW, Verdict.SUPPORTED),
    "answers_grew_under_the_same_limit": Case(window(served(), then=served(output_tokens=200)), Verdict.SUPPORTED),
    "answers_no_longer_stop": Case(
        window(
            served(truncated=0.02),
            then=served(output_tokens=200, truncated=0.3, time_per_output_token=0.008),
        ),
        Verdict.SUPPORTED,
    ),
    "tokens_cost_more_instead": Case(
        window(served(), then=served(time_per_output_token=0.012)), Verdict.REFUTED, by="answers_grew"
    ),
    "answers_grew_but_the_time_went_into_the_queue": Case(
        window(served(), then=served(output_tokens=85, queue=2.0)),
        Verdict.REFUTED,
        by="decode_accounts_for_it",
    ),
    "tokens_were_not_counted": Case(unseen(GREW, OUTPUT_TOKENS), Verdict.UNTESTABLE, missing=OUTPUT_TOKENS),
    "answers_grew_by_an_amount_that_noise_could_explain": Case(
        window(served(), then=served(output_tokens=72, time_per_output_token=0.008), blocks=4, seed=2),
        Verdict.INCONCLUSIVE,
    ),
}
