"""Worlds for `kv_cache_preemption`."""

from correlator.model.findings import Verdict
from correlator.model.names import KV_CACHE_USAGE, KV_PRESSURE
from tests.hypotheses.evidence import Case, only_series, seen, served, unseen, window

SHRANK = window(served(), then=served(kv_capacity=8_000, kv_full=0.5, stall=0.8, preemptions=0.4))

CASES = {
    "the_pool_shrank_and_is_full": Case(SHRANK, Verdict.SUPPORTED),
    "longer_answers_fill_a_pool_of_the_same_size": Case(
        window(served(), then=served(output_tokens=110, kv_full=0.5, stall=0.8)), Verdict.SUPPORTED
    ),
    "a_full_pool_that_neither_shrank_nor_is_asked_for_more": Case(
        window(served(per_block=40), then=served(per_block=40, kv_full=0.5, stall=0.8)), Verdict.INCONCLUSIVE
    ),
    "requests_queue_beside_an_empty_pool": Case(
        window(served(), then=served(waiting=6, running_cap=4, queue=0.6)), Verdict.REFUTED, by="pool_is_full"
    ),
    "the_pool_was_fuller_before": Case(
        window(served(kv_full=0.9, stall=0.2), then=served(kv_full=0.4, stall=0.2, time_per_output_token=0.015)),
        Verdict.REFUTED,
        by="pressure_is_new",
    ),
    "a_full_pool_that_nobody_waited_for": Case(
        window(served(), then=served(kv_full=0.5, retrieval=0.6)), Verdict.REFUTED, by="accounts_for_it"
    ),
    "pool_was_not_measured": Case(
        unseen(SHRANK, KV_CACHE_USAGE, KV_PRESSURE), Verdict.UNTESTABLE, missing=KV_CACHE_USAGE
    ),
    "metrics_alone_lack_the_ledger": Case(only_series(SHRANK), Verdict.UNTESTABLE, missing="ledger.queue"),
    "the_pool_was_full_for_a_moment": Case(
        seen(window(served(), then=served(kv_full=0.1, queue=0.3), seed=4)), Verdict.INCONCLUSIVE
    ),
}
