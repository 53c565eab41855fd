"""Is another service that requests call on their way slow, or failing?

A database, a feature store, an authorisation service: neither model nor retrieval, and often on nobody's dashboard. Its
calls are a part of the ledger of their own, told by the client's spans alone.
"""

from correlator.model.names import DEPENDENCY, DEPENDENCY_ERROR, ERROR, GATEWAY, LATENCY, SERVER_LATENCY
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    by_kind,
    necessary,
    not_grown,
    outgrew,
    rises_with,
    separating,
    shifted,
    shifted_by,
    spares,
)  # fmt: skip

MOST_FAIL_WITH_IT = accounts_for(DEPENDENCY_ERROR, at_least=0.8)

HYPOTHESIS = Hypothesis(
    id="dependency_slow",
    claim="Another service or database that requests call on their way is slow or fails.",
    explains=frozenset({Kind.LATENCY, Kind.ERRORS}),
    cause=DEPENDENCY,
    predictions=(
        necessary(
            "its_calls_got_worse",
            by_kind(
                shifted(DEPENDENCY, UP, at_least=1.25),
                {Kind.ERRORS: shifted_by(DEPENDENCY_ERROR, UP, at_least=0.02)},
            ),
        ),
        necessary("accounts_for_it", by_kind(accounts_for(DEPENDENCY), {Kind.ERRORS: accounts_for(DEPENDENCY_ERROR)})),
        necessary(
            "dose_response",
            by_kind(rises_with(LATENCY, DEPENDENCY), {Kind.ERRORS: rises_with(ERROR, DEPENDENCY_ERROR)}),
        ),
        separating("the_model_did_not_slow_down", not_grown(SERVER_LATENCY, within=1.4)),
        separating("it_slowed_more_than_the_model", outgrew(DEPENDENCY, SERVER_LATENCY)),
        separating(
            "the_service_itself_did_not", by_kind(not_grown(GATEWAY, within=1.4), {Kind.ERRORS: MOST_FAIL_WITH_IT})
        ),
        separating("requests_with_quick_calls_were_spared", spares(DEPENDENCY.below_baseline_p90)),
    ),
    upstream_of=("retry_storm",),
    rivals=("retrieval_slow", "rerank_slow", "vector_pool_exhaustion", "host_cpu_contention"),
    experiment=Experiment(
        id="call_the_dependency_alone",
        why="The same call from the same host, without the service around it, tells a slow callee from a slow caller.",
        command="for i in $(seq 20); do curl -s -o /dev/null -w '%{time_total} %{http_code}\\n' DEPENDENCY_URL; done",
        expect="the dependency alone takes as long as its span did, or fails as often",
        cost=1,
    ),
    remedy="Give the call a time-out and a fallback, and a circuit breaker where it is optional; mend the dependency.",
)
