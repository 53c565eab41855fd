"""Do the same questions find less fitting documents than before, though nothing was exchanged?

Documents grow old, an embedding server changes its pooling, a prefix is no longer sent, users ask about other things:
the whole distribution of scores moves. With the embedding exchanged, it is a mismatch and not drift.
"""

from correlator.model.names import INPUT_TOKENS, RETRIEVAL_DISTANCE, RETRIEVED
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    diverged,
    hits_all_alike,
    necessary,
    not_fallen,
    not_grown,
    separating,
    shifted_by,
    together,
    unchanged,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="semantic_drift",
    claim="What retrieval finds fits the questions worse than before, with the same embedding as before.",
    explains=frozenset({Kind.QUALITY}),
    cause=RETRIEVAL_DISTANCE,
    predictions=(
        necessary("scores_fell", shifted_by(RETRIEVAL_DISTANCE, UP, at_least=0.02)),
        necessary("their_distribution_moved", diverged(RETRIEVAL_DISTANCE, at_least=0.15)),
        necessary("accounts_for_it", accounts_for(RETRIEVAL_DISTANCE)),
        necessary(
            "the_embedding_is_the_same", unchanged("embedding.model", "embedding.dimension", kind="the embedding")
        ),
        separating(
            "as_much_is_asked_and_found",
            together(not_grown(INPUT_TOKENS, within=1.4), not_fallen(RETRIEVED, within=1.4)),
        ),
        separating("for_all_questions_alike", hits_all_alike()),
    ),
    rivals=("embedding_mismatch", "empty_retrieval", "model_change"),
    experiment=Experiment(
        id="semantic_drift",
        why="A fixed set of questions cannot drift: if their scores fell, the system moved, else the questions did.",
        command=(
            'while read -r q; do curl -s --json "{\\"query\\": \\"$q\\"}" SERVICE_URL | jq \'.documents[0].score\'; '
            "done < probe_questions.txt | jq -s add/length"
        ),
        expect="the mean score of the fixed questions is lower than when they were recorded",
        cost=1,
    ),
    remedy="Embed the index anew with the settings queries use (pooling, prefixes, normalisation); refresh documents.",
)
