"""The watcher's loop: look, decide, save, have diagnosed. It decides nothing itself."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from correlator.model.errors import InputError
from correlator.model.evidence import Evidence, Kind, Window, Windows
from correlator.model.incidents import Incident, State
from correlator.watch import diagnoses
from correlator.watch.change import changes, still
from correlator.watch.decide import OPEN_LIMIT, decide
from correlator.watch.objectives import kept
from correlator.watch.settings import Slo, WatchSettings
from correlator.watch.sighting import Condition, Sighting, family

LOG = logging.getLogger(__name__)
FOLLOWED = 8
"""Open incidents compared with their own baseline in one look; of more, these take turns."""
LATE_NS = 3_600_000_000_000
"""Incidents closed within the last hour are looked at too: what overlaps one of them is part of it."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """What the watcher uses, wired elsewhere.

    `evidence` reads the two windows and marks them; `diagnose` answers the object of a diagnosis for a kind and a
    place, or raises; `live` gives the incidents open or closed since a time, at most so many. `counts`
    says what was done, by name; only the watcher's thread writes it.
    """

    settings: WatchSettings
    evidence: Callable[[Windows], Evidence]
    diagnose: Callable[[Windows, Kind, str], Mapping[str, object]]
    live: Callable[[int, int], Sequence[Incident]]
    save: Callable[[Incident], None]
    counts: Counter[str] = field(default_factory=Counter)


def watch(watcher: Watcher, stopped: Callable[[float], bool], clock: Callable[[], int] = time.time_ns) -> None:
    """Look every so often until `stopped(seconds)`, which waits so long (`threading.Event.wait`), says so.

    A look that fails is logged and counted, and the next one tries again.
    """
    while not stopped(watcher.settings.every_s):
        try:
            tick(watcher, clock())
        except Exception:
            watcher.counts["failed_looks"] += 1
            LOG.exception("a look of the watcher failed; the next one is in %g s", watcher.settings.every_s)


def tick(watcher: Watcher, now: int) -> None:
    """One look at the time `now` (Unix ns), everything that follows from it saved."""
    settings, counts = watcher.settings, watcher.counts
    end = now - int(settings.delay_s * 1e9)
    live = watcher.live(now - LATE_NS, 3 * OPEN_LIMIT)
    sightings = [*_look(watcher, live, end), *_follow(watcher, live, end)]
    counts["looks"] += 1
    counts["unknown"] += sum(s.condition is Condition.UNKNOWN for s in sightings)
    changed, refused = decide(live, sightings, now, settings)
    counts["refused"] += refused
    for incident in changed:
        counts[_happened(incident)] += 1
        watcher.save(incident)
    latest = {incident.id: incident for incident in (*live, *changed)}
    for incident in diagnoses.due(latest.values(), now, settings):
        watcher.save(_diagnosed(watcher, incident, end, now))


def _happened(incident: Incident) -> str:
    if incident.version == 1 and incident.state is State.OPEN:
        return "opened"
    return "updated" if incident.state is State.OPEN else incident.state.value


def _look(watcher: Watcher, live: Sequence[Incident], end: int) -> Iterator[Sighting]:
    """Changes and objectives; each length of window is read once.

    Where nothing was heard of a place whose incident is open, that is a sighting, too.
    """
    settings = watcher.settings
    lengths = {slo.window_s for slo in settings.slos} | (
        {settings.change.window_s} if settings.change.enabled else set()
    )
    for length in sorted(lengths):
        onset = end - int(length * 1e9)
        before = Window(onset - int(settings.change.baseline_s * 1e9), onset)
        evidence = watcher.evidence(Windows(before, Window(onset, end), given=True))
        if settings.change.enabled and length == settings.change.window_s:
            yield from changes(evidence)
        for slo in settings.slos:
            if slo.window_s == length:
                seen = list(kept(slo, evidence))
                yield from seen
                yield from _unheard(slo, live, {sighting.where for sighting in seen}, evidence)


def _unheard(slo: Slo, live: Sequence[Incident], heard: Collection[str], evidence: Evidence) -> Iterator[Sighting]:
    assert evidence.windows is not None
    detector = f"slo:{slo.name}"
    for incident in live:
        if incident.state is State.OPEN and incident.detector == detector and incident.where not in heard:
            yield Sighting(detector, slo.kind, incident.where, Condition.UNKNOWN, evidence.windows)


def _follow(watcher: Watcher, live: Sequence[Incident], end: int) -> Iterator[Sighting]:
    """Open incidents against their own baselines: by now the stretch before the latest window may be ill itself."""
    settings = watcher.settings
    objectives = {f"slo:{slo.name}" for slo in settings.slos}
    followed = [i for i in live if i.state is State.OPEN and i.detector not in objectives]
    latest = Window(end - int(settings.change.window_s * 1e9), end)
    for incident in _turn(followed, end // int(settings.every_s * 1e9)):
        evidence = watcher.evidence(Windows(incident.baseline, latest, given=True))
        yield still(evidence, incident.kind, incident.where)


def _turn(incidents: Sequence[Incident], look: int) -> Sequence[Incident]:
    if len(incidents) <= FOLLOWED:
        return incidents
    first = look * FOLLOWED % len(incidents)
    return [*incidents[first:], *incidents[:first]][:FOLLOWED]


def _diagnosed(watcher: Watcher, incident: Incident, end: int, now: int) -> Incident:
    windows = diagnoses.windows(incident, end, watcher.settings)
    try:
        answer = watcher.diagnose(windows, family(incident.kind), incident.where)
    except Exception as error:
        watcher.counts["failed_diagnoses"] += 1
        LOG.warning("incident %s: no diagnosis: %s", incident.id, error, exc_info=not isinstance(error, InputError))
        return replace(incident, version=incident.version + 1, diagnosed=now)
    watcher.counts["diagnoses"] += 1
    return diagnoses.diagnosed(incident, answer, now)
