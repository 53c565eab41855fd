"""Do calls wait in the client for a free connection?

A pool with too few connections queues calls inside the client: the time between the client's start of a call and
its arrival at the server grows, while the server never sees more calls than the pool has. A pool that reports its
use and its waits shows the same without traces.
"""

from correlator.model.names import (
    CALLS_IN_FLIGHT,
    CALLS_QUEUED,
    NETWORK,
    OUTBOUND,
    POOL_PENDING,
    POOL_SHARE,
    POOL_WAIT,
    SERVER_IN_FLIGHT,
    SERVER_LATENCY,
    Events,
)  # fmt: skip
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    at_limit,
    either,
    necessary,
    not_grown,
    occurs,
    plateaus,
    rises_with,
    separating,
    shifted,
    shifted_by,
    together,
)  # fmt: skip

WAITED = shifted(POOL_WAIT, UP, at_least=1.5)
FULL = at_limit(POOL_SHARE, while_high=POOL_WAIT)

HYPOTHESIS = Hypothesis(
    id="client_pool_exhaustion",
    claim="Calls wait inside the client for a free connection of its pool.",
    explains=frozenset({Kind.LATENCY, Kind.ERRORS}),
    cause=OUTBOUND,
    predictions=(
        necessary("wait_before_sending_grew", either(shifted(OUTBOUND, UP, at_least=1.5), where_measured=[WAITED])),
        necessary("accounts_for_it", either(accounts_for(NETWORK), where_measured=[accounts_for(POOL_WAIT)])),
        necessary(
            "waits_when_calls_are_open",
            either(
                rises_with(OUTBOUND, CALLS_IN_FLIGHT),
                where_measured=[together(WAITED, rises_with(POOL_WAIT, POOL_SHARE))],
            ),
        ),
        necessary(
            "server_never_sees_more_than_the_pool",
            either(
                plateaus(SERVER_IN_FLIGHT, while_positive=CALLS_QUEUED),
                where_measured=[together(WAITED, FULL), shifted_by(POOL_PENDING, UP, at_least=0.5)],
            ),
        ),
        separating("server_did_not_slow_down", not_grown(SERVER_LATENCY, within=1.4)),
        separating("all_in_use_while_calls_wait", together(WAITED, FULL)),
        separating("pool_timeouts", occurs(Events.POOL_TIMEOUT, seen_by=frozenset({"application_log"}))),
    ),
    rivals=("host_cpu_contention", "traffic_surge", "vector_pool_exhaustion", "proxy_buffering"),
    experiment=Experiment(
        id="pool_pressure",
        why="Concurrency raised step by step against the server itself shows whether it makes calls wait.",
        command="for c in 1 4 16 64; do vllm bench serve --model MODEL --max-concurrency $c; done",
        expect="the server alone takes more calls at once than the client's pool lets through",
    ),
    remedy="Raise the client's connection limit (or share one client), set a pool timeout, watch connections in use.",
)
