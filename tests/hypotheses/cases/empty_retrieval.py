"""Worlds for `empty_retrieval`."""

from correlator.model.evidence import Kind
from correlator.model.findings import Verdict
from correlator.model.names import EMPTY_RETRIEVAL, RETRIEVED
from tests.hypotheses.evidence import Case, served, unseen, window

EMPTY = window(served(), then=served(empty=0.3))

CASES = {
    "a_third_of_the_searches_find_nothing": Case(EMPTY, Verdict.SUPPORTED),
    "searches_find_more_than_before": Case(
        window(served(empty=0.15), then=served(empty=0.05), kind=Kind.QUALITY),
        Verdict.REFUTED,
        by="empty_results_rose",
    ),
    "searches_are_slow_and_find_enough": Case(
        window(served(), then=served(retrieval=0.6)), Verdict.REFUTED, by="explains_the_symptom"
    ),
    "results_were_not_counted": Case(
        unseen(EMPTY, EMPTY_RETRIEVAL, RETRIEVED), Verdict.UNTESTABLE, missing=EMPTY_RETRIEVAL
    ),
    "some_more_searches_find_nothing": Case(
        window(served(empty=0.04), then=served(empty=0.08), blocks=8, kind=Kind.QUALITY), Verdict.INCONCLUSIVE
    ),
}
