"""Worlds for `batch_past_sweet_spot`."""

from correlator.model.findings import Verdict
from correlator.model.names import BATCH_SIZE
from tests.hypotheses.evidence import Case, served, switched, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

RAISED = switched("engine.max_num_seqs", "64", "256")
SLOWER = window(served(plateau=75), then=served(plateau=75, time_per_output_token=0.012), facts=RAISED)
KNEE = on_gpu(SLOWER, then=gpu(batch=9))

CASES = {
    "a_larger_batch_brings_slower_tokens_and_no_more_of_them": Case(KNEE, Verdict.SUPPORTED),
    "tokens_are_slower_in_the_same_batch": Case(on_gpu(SLOWER), Verdict.REFUTED, by="batch_grew"),
    "a_larger_batch_brings_more_tokens": Case(
        on_gpu(window(served(), then=served(per_block=30, time_per_output_token=0.012)), then=gpu(batch=9)),
        Verdict.REFUTED,
        by="throughput_did_not_follow",
    ),
    "a_larger_batch_is_evicted_all_the_time": Case(
        on_gpu(
            window(served(), then=served(time_per_output_token=0.012, kv_full=0.95, preemptions=2)), then=gpu(batch=9)
        ),
        Verdict.REFUTED,
        by="nothing_is_evicted",
    ),
    "the_batch_was_not_measured": Case(unseen(KNEE, BATCH_SIZE), Verdict.UNTESTABLE, missing=BATCH_SIZE),
}
