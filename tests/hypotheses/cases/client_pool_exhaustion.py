"""Worlds for `client_pool_exhaustion`."""

from correlator.model.findings import Verdict
from correlator.model.names import OUTBOUND, POOL_SHARE, POOL_WAIT, SERVER_IN_FLIGHT, Events
from tests.hypotheses.evidence import Case, event, only_series, seen, served, unseen, window

SMALL = served(calls_open=10, pool_size=4)
EXHAUSTED = window(served(), then=SMALL)
REPORTING = window(served(pool_reports=1), then=served(calls_open=10, pool_size=4, pool_reports=1))
BY_METRICS = only_series(REPORTING)

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
    "a_pool_that_reports_itself_shows_it_without_traces": Case(BY_METRICS, Verdict.SUPPORTED),
    "traces_and_the_pool_agree": Case(REPORTING, Verdict.SUPPORTED),
    "a_pool_with_room_whose_calls_wait_no_longer": Case(
        window(served(pool_reports=1), then=served(pool_reports=1, queue=0.6)),
        Verdict.REFUTED,
        by="wait_before_sending_grew",
    ),
    "metrics_without_what_the_pool_has_in_use": Case(
        seen(unseen(BY_METRICS, POOL_SHARE)), Verdict.UNTESTABLE, missing=POOL_SHARE
    ),
    "metrics_without_waits": Case(seen(unseen(BY_METRICS, POOL_WAIT)), Verdict.UNTESTABLE, missing=POOL_WAIT),
    "sending_was_not_timed": Case(unseen(EXHAUSTED, OUTBOUND), Verdict.UNTESTABLE, missing=OUTBOUND),
    "the_server_was_not_seen": Case(unseen(EXHAUSTED, SERVER_IN_FLIGHT), Verdict.UNTESTABLE, missing=SERVER_IN_FLIGHT),
    "some_calls_wait_on_a_network_that_is_slow_for_all": Case(
        window(served(calls_open=3), then=served(calls_open=3, pool_size=6, network=0.5)),
        Verdict.INCONCLUSIVE,
    ),
}
