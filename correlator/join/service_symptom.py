"""The symptom of one service among several, where nothing got worse that all requests would show."""

from __future__ import annotations

from dataclasses import replace

from correlator.join.symptom import find_symptom
from correlator.join.windows import SEARCHED
from correlator.model.evidence import Evidence, Kind, Symptom
from correlator.model.names import ERROR, LATENCY
from correlator.model.services import LOGGED, TROUBLES, Deviation, deviations


def any_symptom(evidence: Evidence, kind: Kind | None = None, tests: int = 1) -> Symptom | None:
    """The symptom of all requests; without one that of the service that deviates most clearly."""
    symptom = find_symptom(evidence, kind, tests)
    return of_a_service(evidence, kind, tests) if symptom is None else _placed(symptom, evidence)


def of_a_service(evidence: Evidence, kind: Kind | None = None, tests: int = 1) -> Symptom | None:
    """The clearest deviation of a service by itself; errors that it logs only where nothing was measured."""
    for troubles in (TROUBLES, (LOGGED,)):
        wanted = [t for t in troubles if kind in (None, t.kind)]
        if found := deviations(evidence, wanted, tests):
            return _symptom(evidence, found[0])
    return None


def _placed(symptom: Symptom, evidence: Evidence) -> Symptom:
    """The symptom of requests that only metrics tell of is that of the service which was asked."""
    if len(evidence.requests) or symptom.signal not in (LATENCY, ERROR) or "entry" not in evidence.services:
        return symptom
    return replace(symptom, where=str(evidence.services.loc[evidence.services["entry"], "service"].iloc[0]))


def with_any_symptom(evidence: Evidence, kind: Kind | None) -> Evidence:
    """Evidence whose windows were searched in vain, with the symptom of a service in them, if there is one."""
    if evidence.symptom is not None or evidence.windows is None:
        return evidence
    return replace(evidence, symptom=of_a_service(evidence, kind, SEARCHED))


def _symptom(evidence: Evidence, found: Deviation) -> Symptom:
    assert evidence.windows is not None
    return Symptom(
        kind=found.trouble.kind,
        where=found.service,
        signal=found.trouble.signal,
        statistic="mean",
        onset=evidence.windows.incident.start,
        baseline_value=found.before,
        incident_value=found.after,
        change=found.effect.interval,
    )
