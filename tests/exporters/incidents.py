"""Incidents to tell of, and notices of them."""

from dataclasses import replace
from typing import Any

from correlator.model.evidence import Kind, Window
from correlator.model.incidents import Incident, State
from correlator.model.notices import Change, Notice, notice
from exporters.json_object import to_object
from tests.exporters import sample

S = 1_000_000_000
DIAGNOSIS = to_object(sample.incident())


def incident(id: str = "1f0c", **changes: Any) -> Incident:
    """An open one with a whole diagnosis."""
    onset = 1_796_009_790_000_000_000
    first = Incident(
        id=id,
        detector="change",
        kind=Kind.LATENCY,
        where="rag-api",
        title="rag-api: requests take 2.1 times as long",
        severity=2.5,
        onset=onset,
        opened=onset + 60 * S,
        updated=onset + 60 * S,
        baseline=Window(onset - 1800 * S, onset),
        diagnosed=onset + 61 * S,
        diagnosis=DIAGNOSIS,
    )
    return replace(first, **changes)


def closed(id: str = "1f0c", **changes: Any) -> Incident:
    told = incident(id)
    return replace(told, state=State.CLOSED, closed=told.opened + 600 * S, **changes)


def told(change: Change = Change.OPENED, of: Incident | None = None, link: str | None = "https://t.example") -> Notice:
    """A notice of an incident."""
    of = of or (closed() if change is Change.RESOLVED else incident())
    return notice(change, of, of.opened + 90 * S, link)
