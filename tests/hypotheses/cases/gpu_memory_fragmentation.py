"""Worlds for `gpu_memory_fragmentation`."""

from dataclasses import replace

import numpy as np

from correlator.join.ties import tie
from correlator.model.evidence import INCIDENT, Event, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import ALLOCATION_RETRIES, PREFILL, Events
from tests.hypotheses.added import slowed
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, seen, served, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

MIB = 2**20


def retrying(evidence: Evidence, share: float = 0.5, seconds: float = 1.5, before: float = 0.0) -> Evidence:
    """Stretches of the incident in which allocations are repeated, and what each of them costs a request in it."""
    series = evidence.series
    chance = np.where(series["period"] == INCIDENT, share, before)
    retries = 0.4 * (np.random.default_rng(31).random(len(series)) < chance)
    series = series.assign(**{ALLOCATION_RETRIES.name: retries})
    tied = seen(replace(evidence, series=series, requests=tie(evidence.requests, series)[0]))
    stalled = (tied.requests[ALLOCATION_RETRIES.name] > 0).to_numpy()
    return slowed(tied, stalled, PREFILL, seconds) if seconds else tied


def failed(asked: float, unused: float) -> tuple[Event, ...]:
    """Allocations that failed for good, and what their messages say."""
    told = {"asked_bytes": str(asked), "unallocated_bytes": str(unused)}
    return tuple(replace(event(Events.OUT_OF_MEMORY, after), attributes=told) for after in (5.0, 40.0, 80.0))


FAILING, SOUND = served(errors=0.3), served()
STALLING = retrying(window(SOUND, then=SOUND))

CASES = {
    "requests_stall_while_allocations_are_repeated": Case(STALLING, Verdict.SUPPORTED),
    "requests_stall_beside_a_full_gpu": Case(on_gpu(STALLING, gpu(memory=0.95)), Verdict.SUPPORTED),
    "allocations_fail_while_enough_is_held": Case(
        window(SOUND, then=FAILING, events=failed(300 * MIB, 4_000 * MIB)), Verdict.SUPPORTED
    ),
    "allocations_fail_and_hardly_anything_is_held": Case(
        window(SOUND, then=FAILING, events=failed(300 * MIB, 20 * MIB)),
        Verdict.REFUTED,
        by="large_allocations_fail",
    ),
    "requests_fail_and_no_allocation_did": Case(
        window(SOUND, then=FAILING), Verdict.REFUTED, by="large_allocations_fail"
    ),
    "allocations_were_repeated_all_along": Case(
        retrying(window(SOUND, then=served(queue=0.6)), share=0.4, before=0.9, seconds=0),
        Verdict.REFUTED,
        by="large_allocations",
    ),
    "others_are_as_slow_as_those_that_met_a_repetition": Case(
        retrying(window(SOUND, then=served(empty=0.6)), seconds=0), Verdict.REFUTED, by="explains_the_symptom"
    ),
    "no_such_line_was_ever_written": Case(
        unseen(STALLING, ALLOCATION_RETRIES), Verdict.UNTESTABLE, missing=ALLOCATION_RETRIES
    ),
    "messages_without_figures": Case(
        window(SOUND, then=FAILING, events=(event(Events.OUT_OF_MEMORY, 1),)),
        Verdict.UNTESTABLE,
        missing="unallocated_bytes",
    ),
    "neither_log_nor_errors_were_kept": Case(
        window(SOUND, then=FAILING, watched=ALL_SOURCES - {"engine_log", "error_texts"}),
        Verdict.UNTESTABLE,
        missing="engine_log",
    ),
}
