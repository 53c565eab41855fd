"""Worlds for `embedding_mismatch`."""

from dataclasses import replace

from correlator.model.evidence import Evidence, Kind
from correlator.model.findings import Verdict
from correlator.model.names import DIMENSION_ERROR, RETRIEVAL_DISTANCE
from tests.hypotheses.evidence import Case, served, switched, unseen, window
from tests.hypotheses.failing import around, measured, telling

OTHER_MODEL = switched("embedding.model", "bge-m3", "text-embedding-v4")


def searching(before: float, during: float, **more: object) -> Evidence:
    """The best document of each search lies so far from its question."""
    distances = {RETRIEVAL_DISTANCE: around(before, during, 0.3)}
    return measured(window(served(), **more), distances, Kind.QUALITY)  # type: ignore[arg-type]


SWITCHED = searching(0.2, 0.45, facts=OTHER_MODEL)
WRONG = "Wrong input: Vector dimension error: expected dim: 1024, got 3072"
REFUSED = telling(window(served(), then=served(errors=0.3, model_fails=False)), WRONG)

CASES = {
    "another_model_embeds_the_questions": Case(SWITCHED, Verdict.SUPPORTED),
    "the_store_refuses_the_vectors": Case(REFUSED, Verdict.SUPPORTED),
    "the_same_model_finds_worse": Case(
        searching(0.2, 0.45, facts=switched("embedding.model", "bge-m3", "bge-m3")),
        Verdict.REFUTED,
        by="the_two_differ",
    ),
    "another_model_that_finds_as_well": Case(
        searching(0.2, 0.2, facts=OTHER_MODEL), Verdict.REFUTED, by="what_is_found_lies_farther_away"
    ),
    "requests_fail_for_another_reason": Case(
        telling(window(served(), then=served(errors=0.3)), "model is overloaded"), Verdict.REFUTED, by="the_two_differ"
    ),
    "nobody_says_what_embeds": Case(replace(SWITCHED, facts=()), Verdict.UNTESTABLE, missing="embedding.model"),
    "scores_were_not_recorded": Case(
        unseen(SWITCHED, RETRIEVAL_DISTANCE), Verdict.UNTESTABLE, missing=RETRIEVAL_DISTANCE
    ),
    "failures_that_do_not_say_why": Case(unseen(REFUSED, DIMENSION_ERROR), Verdict.UNTESTABLE, missing=DIMENSION_ERROR),
}
