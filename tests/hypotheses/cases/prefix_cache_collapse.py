"""Worlds for `prefix_cache_collapse`."""

from correlator.model.findings import Verdict
from correlator.model.names import CACHED_SHARE
from tests.hypotheses.evidence import Case, served, switched, unseen, window

UNCACHED = served(cached=0.0, prefill_per_token=0.0015)
COLLAPSED = window(served(), then=UNCACHED)

CASES = {
    "prefixes_became_unique": Case(COLLAPSED, Verdict.SUPPORTED),
    "caching_was_turned_off": Case(
        window(served(), then=UNCACHED, facts=switched("engine.enable_prefix_caching", "True", "False")),
        Verdict.SUPPORTED,
    ),
    "the_pool_was_full_and_prefixes_evicted": Case(
        window(served(), then=served(cached=0.0, prefill_per_token=0.0015, kv_full=0.5)), Verdict.SUPPORTED
    ),
    "prompts_grew_and_are_cached_as_before": Case(
        window(served(), then=served(input_tokens=1100)), Verdict.REFUTED, by="cached_share_fell"
    ),
    "cache_emptied_but_prefill_costs_the_same": Case(
        window(served(), then=served(cached=0.0, queue=0.5)), Verdict.REFUTED, by="prefill_per_token_rose"
    ),
    "cache_was_not_measured": Case(unseen(COLLAPSED, CACHED_SHARE), Verdict.UNTESTABLE, missing=CACHED_SHARE),
    "the_hit_rate_fell_by_an_amount_that_noise_could_explain": Case(
        window(served(), then=served(cached=0.51, prefill_per_token=0.0012), blocks=4), Verdict.INCONCLUSIVE
    ),
}
