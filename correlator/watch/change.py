"""Looks for what got worse against an earlier stretch, with the test that a diagnosis uses, only stricter.

The watcher looks thousands of times a day, so an incident is opened when even the near end of the interval reaches
the smallest effect worth naming, and it goes on while the value itself does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from correlator.join.places import at, places
from correlator.join.symptom import find_symptom, least_severity
from correlator.model.errors import InputError
from correlator.model.evidence import Evidence, Kind, Symptom, Windows
from correlator.model.incidents import ENGINE
from correlator.watch.sighting import CHANGE, Condition, Sighting, family


def changes(evidence: Evidence) -> Iterator[Sighting]:
    """What is clearly worse in the incident window of `evidence`, of each place at most one."""
    found = places(evidence)
    for place in found:
        symptom = _clear(_local(evidence, place))
        if symptom is not None:
            yield _sighting(evidence, symptom, place, Condition.WORSE)
    if len(found) > 1:
        symptom = _clear(evidence, Kind.THROUGHPUT)
        if symptom is not None:
            yield _sighting(evidence, symptom, ENGINE, Condition.WORSE)


def still(evidence: Evidence, kind: Kind, where: str) -> Sighting:
    """Whether something of this kind is worse here; `unknown` when too little was measured to compare."""
    unknown = Sighting(CHANGE, kind, where, Condition.UNKNOWN, _windows(evidence))
    try:
        symptom = find_symptom(_local(evidence, where), family(kind))
    except InputError:
        return unknown
    if symptom is None:
        return unknown
    condition = Condition.WORSE if _severity(symptom) >= 1.0 else Condition.WELL
    return _sighting(evidence, symptom, where, condition)


def _clear(evidence: Evidence, kind: Kind | None = None) -> Symptom | None:
    symptom = find_symptom(evidence, kind)
    clear = symptom is not None and least_severity(symptom) >= 1.0
    return symptom if clear else None


def _local(evidence: Evidence, place: str) -> Evidence:
    """Evidence of the place alone: what was measured of the whole system is no symptom of one of many services."""
    local = at(evidence, place)
    return local if local.requests is evidence.requests else replace(local, series=local.series.iloc[:0])


def _severity(symptom: Symptom) -> float:
    """Size of the value itself, not of the near end of its interval."""
    change = symptom.change
    return least_severity(replace(symptom, change=replace(change, low=change.value, high=change.value)))


def _sighting(evidence: Evidence, symptom: Symptom, where: str, condition: Condition) -> Sighting:
    severity = _severity(symptom)
    return Sighting(CHANGE, symptom.kind, where, condition, _windows(evidence), severity, _title(symptom, where))


def _title(symptom: Symptom, where: str) -> str:
    signal = symptom.signal
    unit = f" {signal.unit}" if signal.unit != "1" else ""
    before, after = (f"{value:.3g}{unit}" for value in (symptom.baseline_value, symptom.incident_value))
    return f"{where}: {symptom.statistic} {signal.name} is {after}, before it was {before}"


def _windows(evidence: Evidence) -> Windows:
    assert evidence.windows is not None
    return evidence.windows
