"""Worlds for `input_token_inflation`."""

from correlator.model.findings import Verdict
from correlator.model.names import INPUT_TOKENS, PREFILL
from tests.hypotheses.evidence import Case, seen, served, unseen, window

GREW = window(served(), then=served(input_tokens=1100))

CASES = {
    "prompts_grew": Case(GREW, Verdict.SUPPORTED),
    "tokens_cost_more_instead": Case(
        window(served(), then=served(prefill_per_token=0.0015)), Verdict.REFUTED, by="prompts_grew"
    ),
    "prompts_grew_but_the_time_went_into_retrieval": Case(
        window(served(), then=served(input_tokens=400, retrieval=0.8)),
        Verdict.REFUTED,
        by="prefill_accounts_for_it",
    ),
    "tokens_were_not_counted": Case(unseen(GREW, INPUT_TOKENS), Verdict.UNTESTABLE, missing=INPUT_TOKENS),
    "prefill_was_not_timed": Case(seen(unseen(GREW, PREFILL)), Verdict.UNTESTABLE, missing=PREFILL),
    "prompts_grew_by_an_amount_that_noise_could_explain": Case(
        window(served(), then=served(input_tokens=360, queue=0.4), blocks=4), Verdict.INCONCLUSIVE
    ),
}
