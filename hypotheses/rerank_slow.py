"""Does the reranker take the time?

Cross-encoders score every candidate document by itself: more candidates, longer ones or a busy reranker add up. Cached
queries never see it, so often one user complains while the dashboard's mean looks fine.
"""

from correlator.model.names import LATENCY, RERANK, RETRIEVAL, SERVER_LATENCY
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
    spares,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="rerank_slow",
    claim="Reranking takes longer, and that is where the requests' time goes.",
    explains=frozenset({Kind.LATENCY}),
    cause=RERANK,
    predictions=(
        necessary("reranking_grew", shifted(RERANK, UP, at_least=1.25)),
        necessary("accounts_for_it", accounts_for(RERANK, at_least=0.2)),
        necessary("dose_response", rises_with(LATENCY, RERANK)),
        separating("the_model_did_not_slow_down", not_grown(SERVER_LATENCY, within=1.4)),
        separating("it_slowed_more_than_the_model", outgrew(RERANK, SERVER_LATENCY)),
        separating("the_search_did_not_slow_down", not_grown(RETRIEVAL, within=1.4)),
        separating("queries_that_skip_it_were_spared", spares(RERANK.below_baseline_p90)),
    ),
    rivals=("retrieval_slow", "dependency_slow"),
    experiment=Experiment(
        id="query_cached_and_uncached",
        why="A query that the cache holds skips the reranker: its time beside that of a fresh one is the reranker's.",
        command=(
            "for q in 'the same question' 'the same question' \"a new one $RANDOM\"; do curl -s -o /dev/null "
            '-w \'%{time_total}\\n\' --json "{\\"query\\": \\"$q\\"}" SERVICE_URL; done'
        ),
        expect="the second is fast and the third as slow as the incident's requests",
        cost=1,
    ),
    remedy="Rerank fewer and shorter candidates, batch them, give the reranker its own replica, cache by query.",
)
