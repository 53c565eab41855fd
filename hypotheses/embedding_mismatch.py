"""Do queries and index come from different embedding models?

Another model, version or dimension on one side only: either the store refuses the vectors, or it compares what cannot
be compared, and every score falls at the moment of the change while everything looks healthy and fast.
"""

from correlator.model.names import DIMENSION_ERROR, EMPTY_RETRIEVAL, INPUT_TOKENS, RETRIEVAL_DISTANCE
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    began_with_change,
    by_kind,
    changed,
    either,
    hits_all_alike,
    necessary,
    not_grown,
    separating,
    shifted_by,
    together,
)  # fmt: skip

FACTS = ("embedding.model", "embedding.dimension")
REFUSED = shifted_by(DIMENSION_ERROR, UP, at_least=0.02)
FARTHER = either(
    shifted_by(RETRIEVAL_DISTANCE, UP, at_least=0.05),
    where_measured=[shifted_by(EMPTY_RETRIEVAL, UP, at_least=0.05)],
)

HYPOTHESIS = Hypothesis(
    id="embedding_mismatch",
    claim="Queries are embedded by another model or into another dimension than the index was.",
    explains=frozenset({Kind.QUALITY, Kind.ERRORS}),
    cause=RETRIEVAL_DISTANCE,
    predictions=(
        necessary("the_two_differ", by_kind(changed(*FACTS, kind="the embedding"), {Kind.ERRORS: REFUSED})),
        necessary("what_is_found_lies_farther_away", by_kind(FARTHER, {Kind.ERRORS: accounts_for(DIMENSION_ERROR)})),
        necessary("it_began_then", by_kind(began_with_change(*FACTS), {Kind.ERRORS: REFUSED})),
        separating(
            "for_all_queries_alike",
            by_kind(hits_all_alike(), {Kind.ERRORS: accounts_for(DIMENSION_ERROR, at_least=0.8)}),
        ),
        separating("as_much_is_asked", not_grown(INPUT_TOKENS, within=1.4)),
        separating("refused_since_it_changed", together(REFUSED, changed(*FACTS, kind="the embedding"))),
    ),
    upstream_of=("empty_retrieval",),
    rivals=("empty_retrieval", "semantic_drift", "schema_mismatch"),
    experiment=Experiment(
        id="embedding_dimension",
        why="The length of a fresh vector beside the index's settles the dimension, a stored text's vector the model.",
        command=(
            'curl -s localhost:8000/v1/embeddings --json \'{"model": "MODEL", "input": "a stored text"}\' '
            "| jq '.data[0].embedding | length'; "
            "curl -s localhost:6333/collections/NAME | jq .result.config.params.vectors"
        ),
        expect="the lengths differ; or the stored text's new vector is not the one that the index holds for it",
        cost=1,
    ),
    remedy="Use the index's model for queries, or embed all documents anew; keep model and dimension with the index.",
)
