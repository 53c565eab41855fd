"""Worlds for `lora_activation`."""

import numpy as np

from correlator.join.adapters import meanwhile
from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import ADAPTER_LOADING, ADAPTER_NEW, PREFILL, TIME_TO_FIRST_TOKEN, Events
from tests.hypotheses.added import drawn, slowed, with_columns
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, served, unseen, window

LOADED = tuple(event(Events.LORA_ACTIVATED, after) for after in range(2, 110, 6))


def asking(evidence: Evidence, then: float = 0.15, seconds: float = 3.0) -> Evidence:
    """A share of the incident's requests asks for an adapter that is not there yet, and waits for it."""
    rows = drawn(evidence, 0.01, then)
    marked = with_columns(evidence, **{ADAPTER_NEW.name: rows.astype(float)})
    waited = slowed(marked, rows, PREFILL, seconds) if seconds else marked
    first = waited.requests["ledger.queue"] + waited.requests[PREFILL.name]
    loading = meanwhile(waited.requests, rows.astype(float))
    return with_columns(waited, **{TIME_TO_FIRST_TOKEN.name: np.asarray(first), ADAPTER_LOADING.name: loading})


COLD = asking(window(served(), then=served(), events=LOADED))

CASES = {
    "those_who_ask_first_wait_for_the_adapter": Case(COLD, Verdict.SUPPORTED),
    "all_requests_are_slow": Case(
        asking(window(served(), then=served(queue=0.8), events=LOADED)),
        Verdict.REFUTED,
        by="others_are_spared",
    ),
    "no_adapter_was_loaded": Case(asking(window(served(), then=served())), Verdict.REFUTED, by="adapters_were_loaded"),
    "adapters_are_not_told_of": Case(
        asking(window(served(), then=served(), watched=ALL_SOURCES - {"adapter_metrics"})),
        Verdict.UNTESTABLE,
        missing="adapter_metrics",
    ),
    "requests_do_not_say_which_adapter": Case(unseen(COLD, ADAPTER_NEW), Verdict.UNTESTABLE, missing=ADAPTER_NEW),
}
