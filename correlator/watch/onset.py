"""When what an alert tells of really began: rules look at averages and wait, so alerts come minutes late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from correlator.join.places import at
from correlator.join.search import begun
from correlator.join.symptom import CANDIDATES, find_symptom, least_severity
from correlator.model.evidence import Evidence, Kind, Symptom, Window, Windows, with_windows
from correlator.model.incidents import Incident
from correlator.watch.sighting import family


def located(incident: Incident, evidence: Callable[[Windows], Evidence], end: int, lead_s: float) -> Incident:
    """The incident with its onset moved to where a signal of its kind changed, up to `lead_s` before the alert.

    Where the alert told no kind, the clearest symptom gives it. Unchanged when nothing stands out. InputError when
    nothing was heard of its place.
    """
    earliest = incident.baseline.end
    whole = Window(incident.baseline.start, max(end, incident.onset))
    read = Windows(incident.baseline, Window(earliest, whole.end), given=True)
    found = list(_symptoms(at(evidence(read), incident.where), incident.kind, whole, Window(earliest, incident.onset)))
    if not found:
        return incident
    symptom = max(found, key=least_severity)
    kind = incident.kind or symptom.kind
    return replace(incident, kind=kind, onset=symptom.onset, baseline=Window(whole.start, symptom.onset))


def _symptoms(evidence: Evidence, kind: Kind | None, whole: Window, near: Window) -> Iterator[Symptom]:
    """For each signal of this kind the symptom that its own best onset gives."""
    wanted = [c for c in CANDIDATES if kind is None or c.kind is family(kind)]
    signals = list(dict.fromkeys(candidate.signal for candidate in wanted))
    for signal in signals:
        cut = begun(evidence, signal, whole, near)
        if cut is not None:
            windows = Windows(Window(whole.start, cut), Window(cut, whole.end), given=True)
            symptom = find_symptom(with_windows(evidence, windows), kind, tests=len(signals))
            if symptom is not None and least_severity(symptom) > 0:
                yield symptom
