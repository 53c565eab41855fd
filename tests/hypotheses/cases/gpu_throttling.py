"""Worlds for `gpu_throttling`."""

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import GPU_SM_CLOCK
from tests.hypotheses.added import with_levels
from tests.hypotheses.evidence import Case, served, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

SLOWER = window(served(), then=served(time_per_output_token=0.011))
HOT = on_gpu(SLOWER, then=gpu(clock=1100, throttled=0.9, temperature=88))


def limited(evidence: Evidence, watts: float, draws: float) -> Evidence:
    """The GPU may draw so much instead of 388 W, at clocks that are as before."""
    share = (0.95, draws / watts)
    return with_levels(on_gpu(evidence), 0.01, gpu_power_limit=(388, watts), gpu_power_share=share)


CASES = {
    "clocks_fell_with_a_thermal_reason": Case(HOT, Verdict.SUPPORTED),
    "clocks_are_latched_low_without_a_reason": Case(on_gpu(SLOWER, then=gpu(clock=900)), Verdict.SUPPORTED),
    "a_reason_is_set_at_full_clocks": Case(on_gpu(SLOWER, then=gpu(throttled=0.9)), Verdict.REFUTED, by="clocks_fell"),
    "clocks_are_low_because_the_gpu_idles": Case(
        on_gpu(SLOWER, then=gpu(clock=900, util=0.2)), Verdict.REFUTED, by="a_reason_or_latched"
    ),
    "clocks_fell_and_tokens_are_as_fast": Case(
        on_gpu(window(served(), then=served(retrieval=0.6)), then=gpu(clock=1100, throttled=0.9)),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "the_power_limit_was_lowered_and_is_reached": Case(limited(SLOWER, 230, draws=229), Verdict.SUPPORTED),
    "the_power_limit_was_lowered_and_is_not_reached": Case(
        limited(SLOWER, 230, draws=150), Verdict.REFUTED, by="clocks_fell"
    ),
    "clocks_were_not_measured": Case(unseen(HOT, GPU_SM_CLOCK), Verdict.UNTESTABLE, missing=GPU_SM_CLOCK),
}
