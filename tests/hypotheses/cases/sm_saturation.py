"""Worlds for `sm_saturation`."""

from correlator.model.findings import Verdict
from correlator.model.names import SM_ACTIVE
from tests.hypotheses.evidence import Case, served, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

SLOWER = window(served(), then=served(time_per_output_token=0.011))
FULL = on_gpu(SLOWER, then=gpu(sm=0.97, power=600, dram=0.6))

CASES = {
    "the_sms_are_full_and_tokens_take_longer": Case(FULL, Verdict.SUPPORTED),
    "utilization_is_at_100_percent_and_the_sms_are_not": Case(
        on_gpu(SLOWER, gpu(util=0.95), then=gpu(util=1.0)), Verdict.REFUTED, by="sms_are_full"
    ),
    "the_sms_were_as_full_before": Case(on_gpu(SLOWER, gpu(sm=0.97)), Verdict.REFUTED, by="sms_are_busier"),
    "full_sms_beside_a_slow_retrieval": Case(
        on_gpu(window(served(), then=served(retrieval=0.6)), then=gpu(sm=0.97, power=600)),
        Verdict.REFUTED,
        by="engine_accounts_for_it",
    ),
    "only_utilization_was_measured": Case(unseen(FULL, SM_ACTIVE), Verdict.UNTESTABLE, missing=SM_ACTIVE),
}
