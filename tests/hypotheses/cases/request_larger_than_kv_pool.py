"""Worlds for `request_larger_than_kv_pool`."""

import numpy as np

from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import REQUESTED_TOKENS, WAITING
from tests.hypotheses.added import with_columns
from tests.hypotheses.evidence import Case, fact, served, unseen, window

SMALL, LARGE = (
    (fact("engine.kv_cache_tokens", pool, -100), fact("engine.max_model_len", "32768", -100))
    for pool in ("20000", "65536")
)
BLOCKED = served(waiting=5, running_cap=0.001, kv_usage=0.01, queue=30, errors=0.3)


def one_asks_for(evidence: Evidence, tokens: float) -> Evidence:
    """Every tenth request of the incident asks for so many tokens, the others for few."""
    during = (evidence.requests["period"] == INCIDENT).to_numpy()
    tenth = np.arange(len(during)) % 10 == 0
    return with_columns(evidence, **{REQUESTED_TOKENS.name: np.where(during & tenth, tokens, 600.0)})


STUCK = one_asks_for(window(served(), then=BLOCKED, facts=SMALL), 30_000)

CASES = {
    "a_request_waits_for_more_blocks_than_there_are": Case(STUCK, Verdict.SUPPORTED),
    "nobody_says_how_much_was_asked_for_but_the_pool_is_empty": Case(
        window(served(), then=BLOCKED, facts=SMALL), Verdict.SUPPORTED
    ),
    "the_pool_holds_the_longest_request": Case(
        one_asks_for(window(served(), then=BLOCKED, facts=LARGE), 30_000),
        Verdict.REFUTED,
        by="larger_requests_are_let_in",
    ),
    "requests_wait_because_the_pool_is_full": Case(
        window(served(), then=served(kv_full=0.9, stall=0.8), facts=SMALL), Verdict.REFUTED, by="kv_cache_is_not_full"
    ),
    "requests_wait_behind_a_cap": Case(
        window(served(), then=served(waiting=6, running_cap=4, queue=0.6, kv_usage=0.3), facts=SMALL),
        Verdict.REFUTED,
        by="nothing_is_let_run",
    ),
    "queue_length_was_not_measured": Case(unseen(STUCK, WAITING), Verdict.UNTESTABLE, missing=WAITING),
    "the_pool_s_size_is_not_known": Case(
        window(served(), then=BLOCKED, facts=SMALL[1:]), Verdict.UNTESTABLE, missing="engine.kv_cache_tokens"
    ),
}
