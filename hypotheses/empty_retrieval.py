"""Does retrieval return nothing, so that the model answers without its sources?

A changed filter, chunking or index leaves the search healthy and fast, and empty. Nothing fails: only answers get
worse, and prompts get shorter.
"""

from correlator.model.names import EMPTY_RETRIEVAL, INPUT_TOKENS, RETRIEVED
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    necessary,
    rises_with,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="empty_retrieval",
    claim="Retrieval returns no documents for a growing share of requests.",
    explains=frozenset({Kind.QUALITY}),
    cause=EMPTY_RETRIEVAL,
    predictions=(
        necessary("empty_results_rose", shifted_by(EMPTY_RETRIEVAL, UP, at_least=0.05)),
        necessary("accounts_for_it", accounts_for(EMPTY_RETRIEVAL, at_least=0.2)),
        separating("fewer_documents", shifted(RETRIEVED, DOWN, at_least=1.1)),
        separating("prompts_shrank_with_them", rises_with(INPUT_TOKENS, RETRIEVED)),
    ),
    rivals=("model_change", "embedding_mismatch", "semantic_drift"),
    experiment=Experiment(
        id="retrieval_backtest",
        why="Keyword, vector and hybrid search over the same queries tell an empty index from a broken filter.",
        command="# run ten recorded queries without the filter, and by keyword instead of vector; count empty results",
        expect="keyword search finds what vector search does not if the filter or the chunks are at fault",
    ),
    remedy="Undo the change of filter, chunking or index; alert on the share of empty results.",
)
