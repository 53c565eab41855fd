"""Worlds for `keepalive_mismatch`."""

from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.model.evidence import Coverage, Event, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import CONNECTION_ERROR, ERROR, IDLE_BEFORE, Events
from tests.hypotheses.evidence import Case, event, served, unseen, window
from tests.hypotheses.failing import measured, telling

RESET = "ConnectionResetError: [Errno 104] Connection reset by peer"
REFUSED = tuple(event(Events.KEEPALIVE_REFUSED, t) for t in range(5, 115, 10))


def idle(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Calls that fail come after a silence, others in quick succession."""
    return np.asarray(np.where(rows[ERROR.name] > 0, 60, 2) * rng.lognormal(0, 0.5, len(rows)))


def breaking(*events: Event, text: str = RESET) -> Evidence:
    return telling(window(served(), then=served(errors=0.2), events=events), text)


SILENT = measured(breaking(), {IDLE_BEFORE: idle})
PINGED = breaking(*REFUSED, text="UNAVAILABLE: Too many pings (ENHANCE_YOUR_CALM, too_many_pings)")

CASES = {
    "the_first_call_after_a_silence_fails": Case(SILENT, Verdict.SUPPORTED),
    "the_server_refuses_pings": Case(PINGED, Verdict.SUPPORTED),
    "busy_connections_break": Case(
        measured(breaking(), {IDLE_BEFORE: lambda rows, rng: 2 * rng.lognormal(0, 0.5, len(rows))}),
        Verdict.REFUTED,
        by="pings_are_refused_or_silence_precedes",
    ),
    "requests_fail_for_another_reason": Case(
        measured(breaking(text="model is overloaded"), {IDLE_BEFORE: idle}),
        Verdict.REFUTED,
        by="connections_break_more_often",
    ),
    "nobody_knows_how_long_connections_were_idle": Case(breaking(), Verdict.UNTESTABLE, missing=IDLE_BEFORE),
    "failures_that_do_not_say_why": Case(
        replace(unseen(SILENT, CONNECTION_ERROR), coverage=Coverage()), Verdict.UNTESTABLE, missing=CONNECTION_ERROR
    ),
    "everything_is_slow": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="explains_the_symptom"),
}
