"""Worlds for `gpu_memory_exhaustion`."""

from correlator.model.findings import Verdict
from correlator.model.names import GPU_MEMORY_SHARE, Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, served, unseen, window
from tests.hypotheses.gpu import GIB, gpu, on_gpu

FAILING = window(served(), then=served(errors=0.4))
SILENT = window(served(), then=served(errors=0.4), watched=ALL_SOURCES - {"engine_log", "error_texts"})

CASES = {
    "an_allocation_failed": Case(
        window(served(), then=served(errors=0.4), events=(event(Events.OUT_OF_MEMORY, 1),)), Verdict.SUPPORTED
    ),
    "memory_filled_up_and_requests_fail": Case(
        on_gpu(SILENT, then=gpu(memory=0.99, others=9 * GIB)), Verdict.SUPPORTED
    ),
    "requests_fail_and_memory_is_as_it_was": Case(on_gpu(FAILING), Verdict.REFUTED, by="memory_ran_out"),
    "requests_are_slow_beside_full_memory": Case(
        on_gpu(window(served(), then=served(queue=0.6)), then=gpu(memory=0.99)),
        Verdict.REFUTED,
        by="explains_the_symptom",
    ),
    "neither_log_nor_gpu_was_watched": Case(unseen(SILENT, GPU_MEMORY_SHARE), Verdict.UNTESTABLE, missing="engine_log"),
}
