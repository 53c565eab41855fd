"""The watcher's loop: look, decide, save, have diagnosed; and alerts, when they come. It decides nothing itself."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import Any

from correlator.model.alerts import Alert, Taken
from correlator.model.errors import InputError
from correlator.model.evidence import Evidence, Kind, Window, Windows
from correlator.model.incidents import Incident, State
from correlator.model.moments import rfc3339
from correlator.model.telemetry import Spans, untraced
from correlator.watch import diagnoses
from correlator.watch.alerts import OWN, AlertSettings, holding, sighting, taken
from correlator.watch.change import changes, still
from correlator.watch.decide import NONE, OPEN_LIMIT, decide
from correlator.watch.moments import Moments
from correlator.watch.objectives import kept
from correlator.watch.onset import located
from correlator.watch.settings import Slo, WatchSettings
from correlator.watch.sighting import ALERT, Condition, Sighting, family

LOG = logging.getLogger(__name__)
FOLLOWED = 8
"""Open incidents compared with their own baseline in one look; of more, these take turns."""
LONGEST_FAILURE = 500
LATE_NS = 3_600_000_000_000
"""Incidents closed within the last hour are looked at too: what overlaps one of them is part of it."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """What the watcher uses, wired elsewhere.

    `evidence` reads the two windows and marks them; `diagnose` answers the object of a diagnosis for a kind and a
    place, or raises; `live` gives the incidents open or closed since a time, at most so many; `place` is the service
    that an alert's labels name, None where they name none. `counts` says what was done, by name. Incidents are read,
    decided on and saved by one thread at a time, which holds `lock`; looking and diagnosing need none.
    """

    settings: WatchSettings
    evidence: Callable[[Windows], Evidence]
    diagnose: Callable[[Windows, Kind | None, str], Mapping[str, object]]
    live: Callable[[int, int], Sequence[Incident]]
    save: Callable[[Incident], None]
    place: Callable[[Alert], str | None] = lambda alert: None
    alerts: AlertSettings = field(default_factory=AlertSettings)
    counts: Counter[str] = field(default_factory=Counter)
    spans: Spans = untraced
    lock: Lock = field(default_factory=Lock)


@dataclass(frozen=True, slots=True)
class Pause:
    """Between two looks; what sets `over`, such as an alert, cuts it short. `stopped` is the end of watching."""

    stopped: Event
    over: Event = field(default_factory=Event)

    def __call__(self, seconds: float) -> bool:
        """Wait so long; whether to stop."""
        self.over.wait(seconds)
        self.over.clear()
        return self.stopped.is_set()


def watch(watcher: Watcher, stopped: Callable[[float], bool], moments: Moments) -> None:
    """Look every so often until `stopped(seconds)`, which waits at most so long (`Pause`), says so.

    A look that fails is logged and counted, and the next one tries again. Missed windows follow at once.
    """
    rest_s = watcher.settings.every_s
    while not stopped(rest_s):
        rest_s, moment = watcher.settings.every_s, None
        try:
            moment = moments.next()
            if moment.jumped:
                _afresh(watcher, moment.at)
            with watcher.spans("look") as told:
                tick(watcher, moment.at)
                told["tollens.looks"] = watcher.counts["looks"]
            moments.looked(moment.at)
            watcher.counts["caught_up"] += moment.further > 0
            rest_s = 0.0 if moment.further else rest_s
        except Exception:
            watcher.counts["failed_looks"] += 1
            LOG.exception("a look of the watcher failed; the next one is in %g s", rest_s)
            if moment is not None:
                moments.failed(moment.at)


def _afresh(watcher: Watcher, now: int) -> None:
    """The clock was set: how long an incident has been quiet, or nothing heard of it, is counted from now on."""
    watcher.counts["clock_jumps"] += 1
    LOG.warning("the clock was set; what lasts is measured anew from %s", rfc3339(now))
    with watcher.lock:
        for incident in _live(watcher, now):
            if incident.state is State.OPEN:
                watcher.save(replace(incident, version=incident.version + 1, quiet_since=None, updated=now))


def tick(watcher: Watcher, now: int) -> None:
    """One look at the time `now` (Unix ns), everything that follows from it saved."""
    settings, counts = watcher.settings, watcher.counts
    end = now - int(settings.delay_s * 1e9)
    live = _live(watcher, now)
    sightings = [*_look(watcher, live, end), *_follow(watcher, live, end)]
    counts["looks"] += 1
    counts["unknown"] += sum(s.condition is Condition.UNKNOWN for s in sightings)
    with watcher.lock:
        latest = _decided(watcher, _live(watcher, now), sightings, now)
    for incident in diagnoses.due(latest.values(), now, settings):
        answered = _diagnosed(watcher, incident, end, now)
        with watcher.lock:
            _saved(watcher, incident.id, answered, now)


def take(watcher: Watcher, alerts: Sequence[Alert], now: int) -> list[Taken]:
    """What becomes of alerts that came at `now`: they open, continue and end incidents. Told again, nothing changes."""
    firing = [alert for alert in alerts if alert.ends is None and not alert.name.startswith(OWN)]
    places = {alert.fingerprint: watcher.place(alert) for alert in firing}
    with watcher.lock:
        before = _live(watcher, now)
        seen = {alert.fingerprint: _told(watcher, alert, before, places, now) for alert in firing}
        over = {alert.fingerprint: alert.ends for alert in alerts if alert.ends is not None}
        after = _decided(watcher, before, list(seen.values()), now, over)
        found = [taken(alert, seen.get(alert.fingerprint), before, after) for alert in alerts]
        watcher.counts.update(f"alerts_{one.outcome}" for one in found)
    return found


def _live(watcher: Watcher, now: int) -> Sequence[Incident]:
    return watcher.live(now - LATE_NS, 3 * OPEN_LIMIT)


def _told(
    watcher: Watcher, alert: Alert, live: Sequence[Incident], places: Mapping[str, str | None], now: int
) -> Sighting:
    baseline_s = watcher.settings.change.baseline_s
    place = places[alert.fingerprint]
    return sighting(alert, holding(live, alert.fingerprint), watcher.alerts, baseline_s, now, place)


def _decided(
    watcher: Watcher, live: Sequence[Incident], sightings: Sequence[Sighting], now: int, over: Mapping[str, int] = NONE
) -> Mapping[str, Incident]:
    """The latest versions by id, what changed saved and counted."""
    changed, refused = decide(live, sightings, now, watcher.settings, over)
    watcher.counts["refused"] += refused
    for incident in changed:
        watcher.counts[_happened(incident)] += 1
        watcher.save(incident)
    return {incident.id: incident for incident in (*live, *changed)}


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
    followed = [i for i in live if i.state is State.OPEN and i.kind and i.detector not in objectives]
    latest = Window(end - int(settings.change.window_s * 1e9), end)
    for incident in _turn(followed, end // int(settings.every_s * 1e9)):
        evidence = watcher.evidence(Windows(incident.baseline, latest, given=True))
        assert incident.kind is not None
        yield still(evidence, incident.kind, incident.where)


def _turn(incidents: Sequence[Incident], look: int) -> Sequence[Incident]:
    if len(incidents) <= FOLLOWED:
        return incidents
    first = look * FOLLOWED % len(incidents)
    return [*incidents[first:], *incidents[:first]][:FOLLOWED]


def _diagnosed(watcher: Watcher, incident: Incident, end: int, now: int) -> Mapping[str, Any]:
    """What a diagnosis changes about an incident. Of an alert the first one also finds when it really began."""
    try:
        found = incident
        if incident.detector.startswith(ALERT) and incident.diagnosis is None:
            found = located(incident, watcher.evidence, end, watcher.alerts.lead_s)
        windows = diagnoses.windows(found, end, watcher.settings)
        answer = watcher.diagnose(windows, family(found.kind), found.where)
    except Exception as error:
        watcher.counts["failed_diagnoses"] += 1
        LOG.warning("incident %s: no diagnosis: %s", incident.id, error, exc_info=not isinstance(error, InputError))
        failure = str(error) if isinstance(error, InputError) else "it failed; the log says why"
        return {"diagnosed": now, "failure": failure[:LONGEST_FAILURE]}
    watcher.counts["diagnoses"] += 1
    moved = {"kind": found.kind, "onset": found.onset, "baseline": found.baseline} if found is not incident else {}
    return moved | diagnoses.diagnosed(incident, answer, now)


def _saved(watcher: Watcher, id: str, answered: Mapping[str, Any], now: int) -> None:
    """The next version of the incident as it is by now, with what was answered."""
    current = next((i for i in _live(watcher, now) if i.id == id), None)
    if current is not None:
        watcher.save(replace(current, version=current.version + 1, **answered))
