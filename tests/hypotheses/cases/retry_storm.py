"""Worlds for `retry_storm`."""

from correlator.model.findings import Verdict
from correlator.model.names import ATTEMPTS, Events
from tests.hypotheses.evidence import Case, event, served, unseen, window

STORM = window(served(), then=served(retries=0.8))

CASES = {
    "every_call_is_sent_almost_twice": Case(STORM, Verdict.SUPPORTED),
    "clients_say_so": Case(
        window(
            served(),
            then=served(retries=0.8, per_block=26),
            events=(event(Events.RETRY, 5), event(Events.RETRY, 9)),
        ),
        Verdict.SUPPORTED,
    ),
    "a_time_out_cuts_off_what_used_to_be_answered": Case(
        window(served(), then=served(retries=2.5, per_block=26)),
        Verdict.SUPPORTED,
    ),
    "more_arrive_and_run_into_a_long_time_out": Case(
        window(served(), then=served(retries=0.8, per_block=26, timeout=3.0, timeout_spread=0.5)),
        Verdict.INCONCLUSIVE,
    ),
    "more_arrive_and_are_sent_once": Case(
        window(served(), then=served(per_block=26, queue=0.5)), Verdict.REFUTED, by="attempts_rose"
    ),
    "calls_are_repeated_but_the_time_goes_into_the_queue": Case(
        window(served(), then=served(retries=0.3, retry_cost=0.02, queue=0.8)),
        Verdict.REFUTED,
        by="repeats_account_for_it",
    ),
    "attempts_were_not_counted": Case(unseen(STORM, ATTEMPTS), Verdict.UNTESTABLE, missing=ATTEMPTS),
    "a_few_more_calls_are_repeated": Case(
        window(served(retries=0.3), then=served(retries=0.42, network=0.4)), Verdict.INCONCLUSIVE
    ),
}
