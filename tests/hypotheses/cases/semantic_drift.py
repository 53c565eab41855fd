"""Worlds for `semantic_drift`."""

from dataclasses import replace

from correlator.model.findings import Verdict
from correlator.model.names import RETRIEVAL_DISTANCE
from tests.hypotheses.cases.embedding_mismatch import OTHER_MODEL, searching
from tests.hypotheses.evidence import Case, served, switched, unseen, window

SAME_MODEL = switched("embedding.model", "bge-m3", "bge-m3")
DRIFTED = searching(0.2, 0.4, facts=SAME_MODEL)

CASES = {
    "the_same_questions_find_less_fitting_documents": Case(DRIFTED, Verdict.SUPPORTED),
    "another_model_embeds_the_questions": Case(
        searching(0.2, 0.45, facts=OTHER_MODEL), Verdict.REFUTED, by="the_embedding_is_the_same"
    ),
    "scores_are_as_they_were": Case(searching(0.2, 0.2, facts=SAME_MODEL), Verdict.REFUTED, by="scores_fell"),
    "searches_come_back_empty_and_the_others_are_as_good": Case(
        searching(0.2, 0.2, facts=SAME_MODEL, then=served(empty=0.4)), Verdict.REFUTED, by="scores_fell"
    ),
    "everything_is_slow": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="explains_the_symptom"),
    "nobody_says_what_embeds": Case(replace(DRIFTED, facts=()), Verdict.UNTESTABLE, missing="embedding.model"),
    "scores_were_not_recorded": Case(
        unseen(DRIFTED, RETRIEVAL_DISTANCE), Verdict.UNTESTABLE, missing=RETRIEVAL_DISTANCE
    ),
    "a_slight_move": Case(searching(0.2, 0.235, facts=SAME_MODEL), Verdict.REFUTED, by="their_distribution_moved"),
}
