"""Do requests wait for a connection to the store, and not for the store?

A pool that is too small, or whose connections are held while something slow is awaited (a model's answer, a stream),
runs dry while the database idles. Raising the database's own limit then changes nothing.
"""

from correlator.model.names import (
    RETRIEVAL,
    STORE_POOL_ERROR,
    STORE_POOL_HELD,
    STORE_POOL_PENDING,
    STORE_POOL_SHARE,
    STORE_WAIT,
    Events,
)  # fmt: skip
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    at_limit,
    by_kind,
    either,
    necessary,
    not_grown,
    occurs,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

TIMED_OUT = shifted_by(STORE_POOL_ERROR, UP, at_least=0.02)
TOLD = occurs(Events.STORE_POOL_TIMEOUT, seen_by=frozenset({"application_log"}))
FULL = at_limit(STORE_POOL_SHARE, while_high=STORE_WAIT)
QUEUED = shifted_by(STORE_POOL_PENDING, UP, at_least=0.5)

HYPOTHESIS = Hypothesis(
    id="vector_pool_exhaustion",
    claim="Requests wait for a free connection to the store while the store itself is not slow.",
    explains=frozenset({Kind.LATENCY, Kind.ERRORS}),
    cause=STORE_WAIT,
    predictions=(
        necessary(
            "calls_wait_for_a_connection", by_kind(shifted(STORE_WAIT, UP, at_least=1.5), {Kind.ERRORS: TIMED_OUT})
        ),
        necessary("accounts_for_it", by_kind(accounts_for(STORE_WAIT), {Kind.ERRORS: accounts_for(STORE_POOL_ERROR)})),
        necessary(
            "every_connection_is_in_use",
            by_kind(either(FULL, where_measured=[QUEUED, TOLD]), {Kind.ERRORS: TIMED_OUT}),
        ),
        separating("the_store_did_not_slow_down", not_grown(RETRIEVAL, within=1.4)),
        separating("connections_are_held_longer", shifted(STORE_POOL_HELD, UP, at_least=1.5)),
        separating("pool_timeouts", by_kind(TOLD, {Kind.ERRORS: accounts_for(STORE_POOL_ERROR, at_least=0.8)})),
    ),
    upstream_of=("retrieval_slow", "retry_storm"),
    rivals=("client_pool_exhaustion", "dependency_slow"),
    experiment=Experiment(
        id="pool_pressure",
        why="The query alone at rising concurrency shows the store's own time; what the service adds is waiting.",
        command=(
            "for c in 1 4 16 64; do ab -q -n 400 -c $c -p query.json -T application/json STORE_URL "
            "| grep -E 'Time per request|99%'; done"
        ),
        expect="the store alone takes the concurrency at which the service's requests wait",
    ),
    remedy="Return connections before awaiting the model or streaming; then size the pool, and set a pool time-out.",
)
