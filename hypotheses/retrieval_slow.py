"""Does the time go into retrieval, before the model is even asked?

A cold or growing index, a filter without an index, a slow disk or a far-away store adds to every request the same
way, and the engine looks innocent because it is.
"""

from correlator.model.names import LATENCY, RETRIEVAL, SERVER_LATENCY
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    necessary,
    not_grown,
    outgrew,
    rises_with,
    separating,
    shifted,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="retrieval_slow",
    claim="Retrieval takes longer, and that is where the requests' time goes.",
    explains=frozenset({Kind.LATENCY}),
    cause=RETRIEVAL,
    predictions=(
        necessary("retrieval_grew", shifted(RETRIEVAL, UP, at_least=1.25)),
        necessary("accounts_for_it", accounts_for(RETRIEVAL, at_least=0.2)),
        necessary("dose_response", rises_with(LATENCY, RETRIEVAL)),
        separating("the_model_did_not_slow_down", not_grown(SERVER_LATENCY, within=1.4)),
        separating("it_slowed_more_than_the_model", outgrew(RETRIEVAL, SERVER_LATENCY)),
    ),
    rivals=("vector_pool_exhaustion", "rerank_slow", "dependency_slow", "client_pool_exhaustion"),
    experiment=Experiment(
        id="query_the_store_alone",
        why="The same query against the store, without the service around it, tells a slow store from waiting for it.",
        command="# send one recorded query to the vector store directly, 20 times; compare with the span's duration",
        expect="the store alone is as slow as the span if the store is the cause",
        cost=1,
    ),
    remedy="Look at the store's own latency, segment count and filters; add a timeout and a cached fallback.",
)
