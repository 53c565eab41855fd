"""Worlds for `traffic_surge`."""

from correlator.model.findings import Verdict
from correlator.model.names import ARRIVAL_RATE
from tests.hypotheses.evidence import Case, served, unseen, window

SURGE = window(served(), then=served(per_block=26, queue=0.5, calls_open=14, running=9))

CASES = {
    "twice_as_many_arrive": Case(SURGE, Verdict.SUPPORTED),
    "more_arrive_and_throughput_is_at_its_plateau": Case(
        window(served(per_block=30), then=served(per_block=60, input_tokens=400, queue=0.5, plateau=520)),
        Verdict.SUPPORTED,
    ),
    "as_many_arrive_and_are_sent_twice": Case(
        window(served(), then=served(retries=0.8)), Verdict.REFUTED, by="arrivals_grew"
    ),
    "more_arrive_but_the_time_goes_into_retrieval": Case(
        window(served(), then=served(per_block=26, retrieval=0.6)),
        Verdict.REFUTED,
        by="engine_accounts_for_it",
    ),
    "arrivals_were_not_counted": Case(unseen(SURGE, ARRIVAL_RATE), Verdict.UNTESTABLE, missing=ARRIVAL_RATE),
    "somewhat_more_arrive": Case(
        window(served(), then=served(per_block=15, queue=0.5), blocks=8), Verdict.INCONCLUSIVE
    ),
}
