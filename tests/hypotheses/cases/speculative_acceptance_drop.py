"""Worlds for `speculative_acceptance_drop`."""

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import SPEC_ACCEPTANCE, SPEC_LENGTH, SPEC_REJECTED
from tests.hypotheses.added import with_levels
from tests.hypotheses.evidence import Case, served, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

SLOWER = served(time_per_output_token=0.009)


def drafting(evidence: Evidence, before: float, then: float) -> Evidence:
    """Four tokens are drafted a step, and this share of them is accepted."""
    levels = {
        SPEC_ACCEPTANCE.name: (before, then),
        SPEC_REJECTED.name: (1 - before, 1 - then),
        SPEC_LENGTH.name: (1 + 4 * before, 1 + 4 * then),
    }
    return with_levels(evidence, **levels)


FELL = drafting(on_gpu(window(served(), then=SLOWER)), 0.7, 0.35)

CASES = {
    "fewer_tokens_are_accepted": Case(FELL, Verdict.SUPPORTED),
    "only_the_accepted_length_is_told": Case(unseen(FELL, SPEC_ACCEPTANCE), Verdict.SUPPORTED),
    "as_many_are_accepted_and_tokens_take_longer": Case(
        drafting(on_gpu(window(served(), then=SLOWER), then=gpu(batch=9)), 0.7, 0.7),
        Verdict.REFUTED,
        by="fewer_are_accepted",
    ),
    "fewer_are_accepted_and_tokens_take_no_longer": Case(
        drafting(on_gpu(window(served(), then=served(queue=0.6))), 0.7, 0.35),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "acceptance_was_not_measured": Case(
        unseen(FELL, SPEC_ACCEPTANCE, SPEC_LENGTH, SPEC_REJECTED), Verdict.UNTESTABLE, missing=SPEC_ACCEPTANCE
    ),
}
