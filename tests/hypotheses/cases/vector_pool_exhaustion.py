"""Worlds for `vector_pool_exhaustion`."""

import numpy as np

from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import (
    LATENCY,
    RETRIEVAL,
    STORE_POOL_ERROR,
    STORE_POOL_SHARE,
    STORE_WAIT,
    Events,
)  # fmt: skip
from tests.hypotheses.evidence import Case, Served, event, only_series, served, unseen, window
from tests.hypotheses.failing import around, in_series, measured, telling


def waiting(before: float, during: float, full: float, then: Served | None = None, **more: object) -> Evidence:
    """Requests wait so many seconds for a connection; in the incident the pool's share in use is about `full`."""
    evidence = measured(window(served(), then=then, **more), {STORE_WAIT: around(before, during, 0.6)})  # type: ignore[arg-type]
    evidence = measured(evidence, {LATENCY: lambda rows, _: rows[LATENCY.name] + rows[STORE_WAIT.name]})
    return measured(
        evidence,
        {
            STORE_POOL_SHARE: lambda rows, rng: (
                np.where(rows["period"] == INCIDENT, full, 0.3) - 0.02 * rng.random(len(rows))
            )
        },
    )


EXHAUSTED = waiting(0.005, 0.6, full=1.0)
TIMEOUT = (
    "sqlalchemy.exc.TimeoutError: QueuePool limit of size 10 overflow 20 reached, connection timed out, timeout 30"
)
TIMED_OUT = telling(window(served(), then=served(errors=0.3, model_fails=False)), TIMEOUT)
BY_METRICS = only_series(
    in_series(
        EXHAUSTED,
        {
            STORE_WAIT: around(0.005, 0.6),
            RETRIEVAL: around(0.04, 0.04),
            STORE_POOL_SHARE: lambda rows, rng: (
                np.where(rows["period"] == INCIDENT, 1.0, 0.3) - 0.02 * rng.random(len(rows))
            ),
            LATENCY: around(0.5, 1.1),
        },
    )
)

CASES = {
    "calls_wait_for_a_connection": Case(EXHAUSTED, Verdict.SUPPORTED),
    "sessions_time_out_waiting": Case(TIMED_OUT, Verdict.SUPPORTED),
    "metrics_of_the_pool_alone": Case(BY_METRICS, Verdict.SUPPORTED),
    "the_log_tells_of_timeouts_and_nobody_counts_connections": Case(
        unseen(
            waiting(
                0.005,
                0.6,
                full=1.0,
                events=tuple(event(Events.STORE_POOL_TIMEOUT, t) for t in (5, 9, 20)),
            ),
            STORE_POOL_SHARE,
        ),
        Verdict.SUPPORTED,
    ),
    "the_store_is_slow": Case(
        waiting(0.005, 0.005, full=0.5, then=served(retrieval=0.6)), Verdict.REFUTED, by="calls_wait_for_a_connection"
    ),
    "opening_connections_is_slow_and_the_pool_has_room": Case(
        waiting(0.005, 0.6, full=0.4), Verdict.REFUTED, by="every_connection_is_in_use"
    ),
    "requests_fail_for_another_reason": Case(
        telling(window(served(), then=served(errors=0.3)), "model is overloaded"),
        Verdict.REFUTED,
        by="calls_wait_for_a_connection",
    ),
    "waits_were_not_measured": Case(unseen(EXHAUSTED, STORE_WAIT), Verdict.UNTESTABLE, missing=STORE_WAIT),
    "failures_that_do_not_say_why": Case(
        unseen(TIMED_OUT, STORE_POOL_ERROR), Verdict.UNTESTABLE, missing=STORE_POOL_ERROR
    ),
}
