"""Worlds for `client_pool_exhaustion`."""

from correlator.model.findings import Verdict
from correlator.model.names import OUTBOUND, SERVER_IN_FLIGHT, Events
from tests.hypotheses.evidence import Case, event, served, unseen, window

SMALL = served(calls_open=10, pool_size=4)
EXHAUSTED = window(served(), then=SMALL)

CASES = {
    "calls_wait_for_a_connection": Case(EXHAUSTED, Verdict.SUPPORTED),
    "calls_time_out_waiting_for_one": Case(
        window(served(), then=SMALL, events=(event(Events.POOL_TIMEOUT, 5), event(Events.POOL_TIMEOUT, 9))),
        Verdict.SUPPORTED,
    ),
    "the_network_is_slow_for_all_calls_alike": Case(
        window(served(calls_open=10), then=served(calls_open=10, network=0.5)),
        Verdict.REFUTED,
        by="server_never_sees_more_than_the_pool",
    ),
    "the_server_is_slow": Case(
        window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="wait_before_sending_grew"
    ),
    "sending_was_not_timed": Case(unseen(EXHAUSTED, OUTBOUND), Verdict.UNTESTABLE, missing=OUTBOUND),
    "the_server_was_not_seen": Case(unseen(EXHAUSTED, SERVER_IN_FLIGHT), Verdict.UNTESTABLE, missing=SERVER_IN_FLIGHT),
    "some_calls_wait_on_a_network_that_is_slow_for_all": Case(
        window(served(calls_open=3), then=served(calls_open=3, pool_size=6, network=0.5)),
        Verdict.INCONCLUSIVE,
    ),
}
