"""Worlds for `memory_growth`."""

import numpy as np

from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import GPU_MEMORY_USED, PROCESS_MEMORY, QUEUE, Events, Signal
from tests.hypotheses.added import slowed, with_course
from tests.hypotheses.evidence import Case, event, served, unseen, window
from tests.hypotheses.gpu import GIB

KILLED = (event(Events.OOM_KILL, 5), event(Events.ENGINE_START, -3600))


def leaking(evidence: Evidence, signal: Signal = PROCESS_MEMORY) -> Evidence:
    """Memory doubles over what was recorded."""
    return with_course(evidence, signal, lambda at: 10 * GIB * (1 + at))


def flat(evidence: Evidence, signal: Signal) -> Evidence:
    """Memory as it was."""
    rng = np.random.default_rng(7)
    return with_course(evidence, signal, lambda at: 10 * GIB * rng.lognormal(0, 0.01, len(at)))


def since_onset(evidence: Evidence) -> np.ndarray:
    """How far each request is into the incident, 0 before it."""
    start = evidence.requests["start"].to_numpy(dtype=float)
    onset = start[(evidence.requests["period"] == INCIDENT).to_numpy()].min()
    return np.clip((start - onset) / (start.max() - onset), 0, 1)


HEALTHY = window(served())
FAILING = window(served(), then=served(errors=0.4), events=KILLED)
LEAK = flat(leaking(FAILING), GPU_MEMORY_USED)

CASES = {
    "the_process_grew_until_it_was_killed": Case(LEAK, Verdict.SUPPORTED),
    "the_gpu_s_memory_grew_until_none_was_left": Case(
        flat(leaking(FAILING, GPU_MEMORY_USED), PROCESS_MEMORY), Verdict.SUPPORTED
    ),
    "memory_is_flat_and_requests_fail": Case(
        flat(flat(FAILING, PROCESS_MEMORY), GPU_MEMORY_USED), Verdict.REFUTED, by="memory_climbs"
    ),
    "memory_rose_in_one_step": Case(
        flat(with_course(FAILING, PROCESS_MEMORY, lambda at: 10 * GIB * (1 + (at > 0.5))), GPU_MEMORY_USED),
        Verdict.REFUTED,
        by="memory_climbs",
    ),
    "memory_climbs_beside_failures_of_another_kind": Case(
        leaking(window(served(), then=served(errors=0.4))), Verdict.REFUTED, by="it_ran_out_or_slows"
    ),
    "requests_take_the_longer_the_more_is_kept": Case(
        leaking(slowed(HEALTHY, since_onset(HEALTHY) > 0, QUEUE, 3 * since_onset(HEALTHY))), Verdict.SUPPORTED
    ),
    "memory_climbs_and_latency_rose_in_one_step": Case(
        leaking(window(served(), then=served(queue=0.6))), Verdict.INCONCLUSIVE
    ),
    "memory_was_not_measured": Case(unseen(LEAK, PROCESS_MEMORY), Verdict.UNTESTABLE, missing=PROCESS_MEMORY),
}
