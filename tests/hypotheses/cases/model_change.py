"""Worlds for `model_change`."""

from correlator.model.findings import Verdict
from correlator.model.names import DECODE, TIME_PER_OUTPUT_TOKEN
from tests.hypotheses.evidence import Case, fact, seen, served, switched, unseen, window

LARGER = switched("engine.model", "small-7b", "large-14b")
SLOWER = served(time_per_output_token=0.012, prefill_per_token=0.0006)
CHANGED = window(served(), then=SLOWER, facts=LARGER)

CASES = {
    "a_larger_model_serves": Case(CHANGED, Verdict.SUPPORTED),
    "calls_of_the_new_model_fail_for_all_alike": Case(
        window(served(per_block=24), then=served(per_block=24, errors=0.3), facts=LARGER), Verdict.SUPPORTED
    ),
    "the_new_model_does_not_finish_its_answers": Case(
        window(served(truncated=0.02), then=served(truncated=0.4), facts=LARGER), Verdict.SUPPORTED
    ),
    "requests_fail_but_not_in_the_model": Case(
        window(served(), then=served(errors=0.3, model_fails=False), facts=LARGER),
        Verdict.REFUTED,
        by="model_accounts_for_it",
    ),
    "requests_fail_long_before_the_change": Case(
        window(
            served(), then=served(errors=0.3), facts=(fact("engine.model", "a", -100), fact("engine.model", "b", 90))
        ),
        Verdict.REFUTED,
        by="it_shows_from_the_change_on",
    ),
    "retrieval_is_empty_since_the_change": Case(
        window(served(truncated=0.0), then=served(empty=0.4, truncated=0.0), facts=LARGER),
        Verdict.REFUTED,
        by="model_accounts_for_it",
    ),
    "tokens_cost_more_under_the_same_model": Case(
        window(served(), then=SLOWER, facts=switched("engine.model", "small-7b", "small-7b")),
        Verdict.REFUTED,
        by="it_changed",
    ),
    "a_new_model_that_costs_the_same": Case(
        window(served(), then=served(queue=0.5), facts=LARGER), Verdict.REFUTED, by="it_shows_from_the_change_on"
    ),
    "tokens_cost_more_but_the_time_goes_into_retrieval": Case(
        window(served(), then=served(time_per_output_token=0.007, retrieval=1.5), facts=LARGER),
        Verdict.REFUTED,
        by="model_accounts_for_it",
    ),
    "nobody_says_which_model": Case(window(served(), then=SLOWER), Verdict.UNTESTABLE, missing="engine.model"),
    "the_model_was_named_only_afterwards": Case(
        window(served(), then=SLOWER, facts=(fact("engine.model", "large-14b", 1),)),
        Verdict.UNTESTABLE,
        missing="engine.model",
    ),
    "decode_was_not_timed": Case(
        seen(unseen(CHANGED, TIME_PER_OUTPUT_TOKEN, DECODE)),
        Verdict.UNTESTABLE,
        missing=TIME_PER_OUTPUT_TOKEN,
    ),
    "tokens_cost_more_by_an_amount_that_noise_could_explain": Case(
        window(served(), then=served(time_per_output_token=0.0058, queue=0.3), facts=LARGER, blocks=8),
        Verdict.INCONCLUSIVE,
    ),
}
