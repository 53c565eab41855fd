"""Worlds for `retrieval_slow`."""

from correlator.model.findings import Verdict
from correlator.model.names import RETRIEVAL, SERVER_LATENCY
from tests.hypotheses.evidence import Case, served, unseen, window

SLOW = window(served(), then=served(retrieval=0.6))

CASES = {
    "the_store_is_slow": Case(SLOW, Verdict.SUPPORTED),
    "the_model_is_slow": Case(
        window(served(), then=served(time_per_output_token=0.012)), Verdict.REFUTED, by="retrieval_grew"
    ),
    "retrieval_doubled_but_the_time_goes_into_the_model": Case(
        window(served(), then=served(retrieval=0.08, time_per_output_token=0.02)),
        Verdict.REFUTED,
        by="accounts_for_it",
    ),
    "the_store_is_slow_and_the_model_twice_as_slow": Case(
        window(served(), then=served(retrieval=0.6, time_per_output_token=0.012)), Verdict.SUPPORTED
    ),
    "both_are_slow_alike": Case(
        window(served(retrieval=0.3), then=served(retrieval=0.66, time_per_output_token=0.014)), Verdict.INCONCLUSIVE
    ),
    "retrieval_was_not_traced": Case(unseen(SLOW, RETRIEVAL), Verdict.UNTESTABLE, missing=RETRIEVAL),
    "the_model_was_not_seen": Case(unseen(SLOW, SERVER_LATENCY), Verdict.UNTESTABLE, missing=SERVER_LATENCY),
}
