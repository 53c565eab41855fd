"""Worlds for `prefill_head_of_line`."""

import numpy as np

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import (
    INPUT_TOKENS,
    LONG_PREFILL_AHEAD,
    PREFILL,
    QUEUE,
    SHORT_FIRST_TOKEN,
    TIME_TO_FIRST_TOKEN,
)
from tests.hypotheses.added import drawn, slowed, with_columns
from tests.hypotheses.evidence import Case, served, unseen, window


def behind(evidence: Evidence, before: float = 0.02, then: float = 0.3, seconds: float = 1.0) -> Evidence:
    """A share of the requests finds a prompt of about 16,000 tokens ahead, and waits as long as that takes."""
    rows = drawn(evidence, before, then)
    tokens = np.where(rows, 16_000 * np.random.default_rng(3).lognormal(0, 0.2, len(rows)), 0.0)
    evidence = slowed(evidence, rows, QUEUE, seconds) if seconds else evidence
    requests = evidence.requests
    first = requests[QUEUE.name] + requests[PREFILL.name]
    short = first.where(requests[INPUT_TOKENS.name] <= requests[INPUT_TOKENS.name].median())
    return with_columns(
        evidence,
        **{LONG_PREFILL_AHEAD.name: tokens, SHORT_FIRST_TOKEN.name: short, TIME_TO_FIRST_TOKEN.name: first},
    )


HELD_UP = behind(window(served(), then=served()))

CASES = {
    "short_prompts_wait_for_long_ones": Case(HELD_UP, Verdict.SUPPORTED),
    "all_wait_whoever_is_ahead": Case(
        behind(window(served(), then=served(queue=0.8))), Verdict.REFUTED, by="others_are_spared"
    ),
    "long_prompts_that_nobody_waits_for": Case(
        behind(window(served(), then=served(time_per_output_token=0.012)), seconds=0),
        Verdict.REFUTED,
        by="short_prompts_wait",
    ),
    "time_to_first_token_was_not_measured": Case(
        unseen(HELD_UP, SHORT_FIRST_TOKEN), Verdict.UNTESTABLE, missing=SHORT_FIRST_TOKEN
    ),
}
