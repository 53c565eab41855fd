"""Worlds for `scheduler_concurrency_cap`."""

from correlator.model.findings import Verdict
from correlator.model.names import KV_CACHE_USAGE, WAITING
from tests.hypotheses.evidence import Case, served, switched, unseen, window

CAPPED = served(waiting=6, running_cap=4, queue=0.6)
QUEUED = window(served(), then=CAPPED)

CASES = {
    "requests_wait_behind_a_cap": Case(QUEUED, Verdict.SUPPORTED),
    "the_cap_was_lowered": Case(
        window(served(), then=CAPPED, facts=switched("engine.max_num_seqs", "64", "4")), Verdict.SUPPORTED
    ),
    "requests_wait_for_kv_blocks": Case(
        window(served(), then=served(kv_full=0.7, stall=0.8, running_cap=4)),
        Verdict.REFUTED,
        by="kv_cache_is_not_full",
    ),
    "nobody_waits": Case(
        window(served(), then=served(time_per_output_token=0.012)),
        Verdict.REFUTED,
        by="queue_accounts_for_it",
    ),
    "queue_length_was_not_measured": Case(unseen(QUEUED, WAITING), Verdict.UNTESTABLE, missing=WAITING),
    "pool_was_not_measured": Case(unseen(QUEUED, KV_CACHE_USAGE), Verdict.UNTESTABLE, missing=KV_CACHE_USAGE),
    "requests_were_seen_waiting_twice": Case(
        window(served(), then=served(waiting=6, waiting_share=0.1, running_cap=4, queue=0.6), seed=5),
        Verdict.INCONCLUSIVE,
    ),
}
