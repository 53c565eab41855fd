"""Worlds for `health_probe_misfit`."""

from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.model.evidence import Event, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import ERROR, GENERATION_THROUGHPUT, GOODPUT, Events
from tests.hypotheses.evidence import ALL_SOURCES, BEGIN, BLOCKS, Case, event, seen, served, unseen, window
from tests.hypotheses.failing import in_series, measured

SOURCES = ALL_SOURCES | {"cluster_events", "kernel_log"}
RESTARTS = tuple(event(name, t) for t in (20, 80) for name in (Events.PROBE_FAILED, Events.PROBE_RESTART))
ONSET = BEGIN + BLOCKS * 10_000_000_000


def failing(since: tuple[float, ...], for_s: float, *events: Event, watched: frozenset[str] = SOURCES) -> Evidence:
    """Most requests fail for a while after these seconds of the incident."""

    def failed(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
        after = (rows["start"].to_numpy() - ONSET) / 1e9
        down = np.any([(after >= t) & (after < t + for_s) for t in since], axis=0)
        return np.asarray(down & (rng.random(len(rows)) < 0.6))

    return measured(window(served(), events=events, watched=watched), {ERROR: failed})


MISFIT = failing((20, 80), 35, *RESTARTS)


def stalled(evidence: Evidence) -> Evidence:
    """The engine generates nothing from the onset on."""
    nothing = lambda column: lambda rows, _: np.where(rows["start"] >= ONSET, 0, rows[column.name])  # noqa: E731
    return in_series(evidence, {s: nothing(s) for s in (GENERATION_THROUGHPUT, GOODPUT)})


def never_ready(needs: float) -> Evidence:
    """Ended 45 s after each of two starts; an earlier start was ready after so many seconds. Everything fails."""
    life = [event(Events.ENGINE_START, -300), event(Events.ENGINE_READY, -300 + needs)]
    for start in (1, 61):
        life += [event(Events.ENGINE_START, start), event(Events.PROBE_RESTART, start + 45)]
    return failing((0,), 120, *life)


CASES = {
    "probes_restart_an_engine_that_works": Case(MISFIT, Verdict.SUPPORTED),
    "probes_restart_an_engine_that_hangs": Case(stalled(MISFIT), Verdict.REFUTED, by="the_engine_worked_until_then"),
    "requests_fail_and_no_probe_does": Case(failing((20, 80), 35), Verdict.REFUTED, by="probes_failed"),
    "requests_fail_all_the_time": Case(
        failing((0,), 120, event(Events.PROBE_FAILED, 100)), Verdict.REFUTED, by="requests_fail_after_it"
    ),
    "nobody_watches_the_cluster": Case(
        failing((20, 80), 35, watched=ALL_SOURCES), Verdict.UNTESTABLE, missing="cluster_events"
    ),
    "the_engine_tells_nothing_of_its_work": Case(
        unseen(MISFIT, GENERATION_THROUGHPUT, GOODPUT), Verdict.UNTESTABLE, missing=GENERATION_THROUGHPUT
    ),
    "an_engine_is_ended_before_it_can_be_ready": Case(never_ready(needs=150), Verdict.SUPPORTED),
    "a_start_that_hangs_looks_the_same": Case(never_ready(needs=20), Verdict.INCONCLUSIVE),
    "everything_is_slow": Case(
        seen(replace(window(served(), then=served(queue=0.6)), events=RESTARTS)),
        Verdict.REFUTED,
        by="explains_the_symptom",
    ),
}
