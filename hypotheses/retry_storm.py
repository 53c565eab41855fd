"""Do retries multiply the load, so that fewer requests succeed the more is sent?

A time-out near the service time, or retries without back-off, turns one slow answer into several requests. Offered
load rises while goodput does not.
"""

from correlator.model.names import (
    ARRIVAL_RATE,
    ATTEMPTS,
    CLIENT_LATENCY,
    GIVEN_UP,
    GOODPUT,
    LATENCY,
    NETWORK,
    OFFERED_LOAD,
    RETRY,
    Events,
)
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    necessary,
    not_grown,
    occurs,
    rises_with,
    separating,
    shifted,
    times_out_near,
    together,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="retry_storm",
    claim="Clients send requests again and again, and the repeats are a large part of the load.",
    explains=frozenset({Kind.LATENCY, Kind.ERRORS, Kind.THROUGHPUT}),
    cause=ATTEMPTS,
    predictions=(
        necessary("attempts_rose", shifted(ATTEMPTS, UP, at_least=1.1)),
        necessary("dose_response", rises_with(LATENCY, ATTEMPTS)),
        necessary("repeats_account_for_it", accounts_for(RETRY, NETWORK, at_least=0.2)),
        separating("logical_requests_did_not_grow", not_grown(ARRIVAL_RATE, within=1.4)),
        separating(
            "more_is_sent_and_no_more_answered",
            together(shifted(OFFERED_LOAD, UP, at_least=1.4), not_grown(GOODPUT, within=1.4)),
        ),
        separating("time_out_near_the_service_time", times_out_near(GIVEN_UP, CLIENT_LATENCY)),
        separating("clients_say_so", occurs(Events.RETRY, seen_by=frozenset({"application_log"}))),
    ),
    upstream_of=("scheduler_concurrency_cap", "kv_cache_preemption"),
    rivals=("traffic_surge", "keepalive_mismatch", "proxy_buffering"),
    experiment=Experiment(
        id="back_off_one_client",
        why="One client with exponential back-off shows whether the repeats or the first tries are too many.",
        command="# on one client: retry after 500 ms, doubling to 8 s, ±10 % jitter, 3 tries, time-out ≥ p99",
        expect="its attempts per request fall towards 1 and its successes do not",
        cost=1,
    ),
    remedy="Back off exponentially with jitter, cap tries with a retry budget, set time-outs above the p99.",
)
