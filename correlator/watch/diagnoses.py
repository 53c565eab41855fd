"""Which incidents are to be diagnosed now, and when their diagnoses have settled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from correlator.model.evidence import Window, Windows
from correlator.model.incidents import Incident, State
from correlator.watch.settings import WatchSettings

A_TICK = 2
"""Diagnoses between two looks; the incidents that waited longest come first."""
SAME_PROBABILITY = 0.05
"""Probabilities of the first cause that differ by no more say the same."""


def due(incidents: Iterable[Incident], now: int, settings: WatchSettings) -> Sequence[Incident]:
    """Open, not settled, heard of lately, and not diagnosed a moment ago; or never diagnosed at all."""
    waiting = [i for i in incidents if _wanted(i) and _rested(i, now, settings.rediagnose_s)]
    return sorted(waiting, key=lambda incident: (incident.diagnosed or 0, -incident.severity))[:A_TICK]


def windows(incident: Incident, now: int, settings: WatchSettings) -> Windows:
    """The stretch before the onset against that from it on, not longer than settings say."""
    end = min(now, incident.closed or now, incident.onset + int(settings.longest_s * 1e9))
    return Windows(incident.baseline, Window(incident.onset, end), given=True)


def diagnosed(incident: Incident, answer: Mapping[str, object], now: int) -> dict[str, Any]:
    """What this answer changes about the incident."""
    agreed = incident.agreed + 1 if agree(incident.diagnosis, answer) else 0
    return {"diagnosis": answer, "diagnosed": now, "agreed": agreed, "failure": ""}


def agree(one: Mapping[str, object] | None, other: Mapping[str, object]) -> bool:
    """The same cause first, and about as probable."""
    if one is None:
        return False
    (cause, probability), (other_cause, other_probability) = _first(one), _first(other)
    return cause == other_cause and abs(probability - other_probability) <= SAME_PROBABILITY


def _wanted(incident: Incident) -> bool:
    if incident.diagnosed is None:
        return incident.state is not State.MERGED
    return not incident.settled and not incident.note


def _rested(incident: Incident, now: int, seconds: float) -> bool:
    return incident.diagnosed is None or abs(now - incident.diagnosed) >= seconds * 1e9


def _first(answer: Mapping[str, object]) -> tuple[str, float]:
    findings = answer.get("findings")
    if not isinstance(findings, Sequence) or not findings:
        return "", 0.0
    first = findings[0]
    return str(first["hypothesis"]), float(first["probability"] or 0.0)
