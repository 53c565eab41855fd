"""Worlds for `gpu_cotenant`."""

from correlator.model.findings import Verdict
from correlator.model.names import GPU_OTHER_MEMORY, GPU_OTHER_SM, Events
from tests.hypotheses.evidence import Case, event, only_series, served, unseen, window
from tests.hypotheses.gpu import GIB, gpu, on_gpu

SLOWER = window(served(), then=served(time_per_output_token=0.011))
TENANT = on_gpu(SLOWER, then=gpu(others=30 * GIB, power=480, sm=0.8))

CASES = {
    "another_process_appeared_and_tokens_take_longer": Case(TENANT, Verdict.SUPPORTED),
    "tokens_take_longer_and_nobody_else_is_there": Case(on_gpu(SLOWER), Verdict.REFUTED, by="it_appeared"),
    "another_process_holds_memory_and_takes_no_time": Case(
        on_gpu(window(served(), then=served(retrieval=0.6)), then=gpu(others=30 * GIB)),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "nobody_listed_the_processes": Case(
        unseen(TENANT, GPU_OTHER_MEMORY, GPU_OTHER_SM), Verdict.UNTESTABLE, missing=GPU_OTHER_MEMORY
    ),
    "a_start_was_ended_since_others_gave_memory_back": Case(
        window(served(), then=served(errors=0.97), events=(event(Events.MEMORY_RELEASED, 2),)), Verdict.SUPPORTED
    ),
    "another_process_appeared_and_requests_fail": Case(
        on_gpu(window(served(), then=served(errors=0.97)), then=gpu(others=30 * GIB)), Verdict.REFUTED, by="it_appeared"
    ),
    "metrics_alone_lack_the_time_per_token": Case(
        only_series(TENANT), Verdict.UNTESTABLE, missing="time_per_output_token"
    ),
}
