"""Two made-up notices on which a target is tried when the service starts: one with a diagnosis, one without."""

from __future__ import annotations

from dataclasses import replace

from correlator.model.incidents import Incident
from correlator.model.notices import Change, Notice
from correlator.model.periods import Kind, Window

_AT = 1_796_009_790_000_000_000
_FINDING = {
    "hypothesis": "input_token_inflation",
    "claim": "Prompts grew, so each request spends longer in prefill.",
    "verdict": "supported",
    "role": "root",
    "probability": 0.9,
    "share": None,
    "scope": {},
    "predictions": [],
    "missing": [],
    "experiment": None,
    "remedy": "Limit the length of prompts.",
}
_INCIDENT = Incident(
    id="example",
    detector="change",
    kind=Kind.LATENCY,
    where="chat",
    title="an example",
    severity=1.5,
    onset=_AT,
    opened=_AT,
    updated=_AT,
    baseline=Window(_AT - 1, _AT),
)
_DIAGNOSIS: dict[str, object] = {
    "symptom": None,
    "ledger": [],
    "findings": [_FINDING],
    "none_of_these": 0.1,
    "stability": {},
    "coverage": {},
    "version": "",
    "elapsed_s": 0.0,
}


def examples() -> list[Notice]:
    """They are sent to nobody."""
    bare = Notice(id="msg_example", change=Change.OPENED, at=_AT, incident=_INCIDENT)
    return [replace(bare, incident=replace(_INCIDENT, diagnosis=_DIAGNOSIS, diagnosed=_AT)), bare]
