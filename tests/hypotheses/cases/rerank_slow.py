"""Worlds for `rerank_slow`."""

from correlator.model.findings import Verdict
from correlator.model.names import LATENCY, RERANK
from tests.hypotheses.evidence import Case, served, unseen, window

SLOW = window(served(rerank=0.05), then=served(rerank=0.6))

CASES = {
    "reranking_is_slow": Case(SLOW, Verdict.SUPPORTED),
    "the_search_is_slow": Case(
        window(served(rerank=0.05), then=served(rerank=0.05, retrieval=0.6)), Verdict.REFUTED, by="reranking_grew"
    ),
    "reranking_doubled_but_the_time_goes_into_the_model": Case(
        window(served(rerank=0.05), then=served(rerank=0.1, time_per_output_token=0.025)),
        Verdict.REFUTED,
        by="accounts_for_it",
    ),
    "there_is_no_span_of_a_reranker": Case(unseen(SLOW, RERANK), Verdict.UNTESTABLE, missing=RERANK),
    "whole_requests_were_not_timed": Case(unseen(SLOW, LATENCY), Verdict.UNTESTABLE, missing=LATENCY),
}
