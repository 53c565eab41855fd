"""What becomes of the incidents after a look: a pure function of incidents, sightings and the time.

An incident is told by the kind of its symptom and its place. It stays open until its own detector has seen it well
for a while without a gap; seeing nothing is not seeing it well. An incident that an alert opened ends with the alert.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from correlator.model.evidence import Kind
from correlator.model.incidents import Incident, State, incident_id
from correlator.model.moments import rfc3339
from correlator.watch.settings import WatchSettings
from correlator.watch.sighting import ALERT, CHANGE, Condition, Sighting, family

OPEN_LIMIT = 100
"""Open incidents at a time; what is seen beyond that is refused and counted."""

ALERTS = 100
"""Alerts that keep one incident open; further ones are part of it without that."""
NONE: Mapping[str, int] = {}
Key = tuple[Kind | None, str]


def decide(
    live: Sequence[Incident],
    sightings: Sequence[Sighting],
    now: int,
    settings: WatchSettings,
    over: Mapping[str, int] = NONE,
) -> tuple[list[Incident], int]:
    """New versions of the incidents that changed, and how many were not opened for lack of room.

    `live` are those open and those closed lately: what overlaps one of these is part of it. `over` are alerts that
    ended: fingerprint → when.
    """
    seen: dict[Key, list[Sighting]] = {}
    for sighting in sightings:
        seen.setdefault((family(sighting.kind), sighting.where), []).append(sighting)
    relieved = [_relieved(incident, over, now) for incident in live]
    after = [_followed(incident, seen.get(_key(incident), []), now, settings) for incident in relieved]
    known = {_key(incident) for incident in after if incident.state is State.OPEN}
    new = [_opened(found, now) for found in _news(seen, known, after) if _worst(found)]
    room = max(0, OPEN_LIMIT - sum(incident.state is State.OPEN for incident in after))
    kept = sorted(new, key=lambda incident: -incident.severity)[:room]
    before = {incident.id: incident for incident in live}
    changed = [i for i in _merged([*after, *kept], now) if i != before.get(i.id)]
    versioned = [replace(i, version=before[i.id].version + 1) if i.id in before else i for i in changed]
    return versioned, len(new) - len(kept)


def _key(incident: Incident) -> Key:
    return family(incident.kind), incident.where


def _news(
    seen: Mapping[Key, Sequence[Sighting]], known: Collection[Key], after: Sequence[Incident]
) -> Iterator[Sequence[Sighting]]:
    """What is seen where no incident is open, but for what the latest stretch shares with one that its alert ended."""
    ended = {_key(i): i.closed for i in after if i.detector.startswith(ALERT) and i.closed is not None}
    for key, found in seen.items():
        if key not in known:
            yield [s for s in found if s.alert or s.windows.incident.start >= ended.get(key, 0)]


def _worst(sightings: Iterable[Sighting]) -> Sighting | None:
    return max((s for s in sightings if s.condition is Condition.WORSE), key=lambda s: s.severity, default=None)


def _opened(found: Sequence[Sighting], now: int) -> Incident:
    sighting = _worst(found)
    assert sighting is not None
    return Incident(
        id=incident_id(family(sighting.kind), sighting.where, now),
        detector=sighting.detector,
        kind=sighting.kind,
        where=sighting.where,
        title=sighting.title,
        severity=sighting.severity,
        onset=sighting.windows.incident.start,
        opened=now,
        updated=now,
        baseline=sighting.windows.baseline,
        alerts=_firing((), found),
    )


def _firing(known: Sequence[str], sightings: Iterable[Sighting]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*known, *(s.alert for s in sightings if s.alert)]))[:ALERTS]


def _relieved(incident: Incident, over: Mapping[str, int], now: int) -> Incident:
    """The incident without the alerts that ended; with the last of them ends what an alert opened."""
    left = tuple(alert for alert in incident.alerts if alert not in over)
    if incident.state is not State.OPEN or left == incident.alerts:
        return incident
    if left or not incident.detector.startswith(ALERT):
        return replace(incident, alerts=left, updated=now)
    last = max(over[alert] for alert in incident.alerts)
    closed = max(min(last, now), incident.onset)
    return replace(incident, state=State.CLOSED, closed=closed, updated=now, alerts=(), note="")


def _followed(incident: Incident, seen: Sequence[Sighting], now: int, settings: WatchSettings) -> Incident:
    """The incident after this look. Without a sighting by its detector it was not looked at, and stays as it is."""
    if incident.state is not State.OPEN:
        return incident
    worst = _worst(seen)
    if worst is not None:
        return replace(_worse(incident, worst, now), alerts=_firing(incident.alerts, seen))
    if incident.alerts:
        return _held(incident, now, settings)
    own = {sighting.detector: sighting.condition for sighting in seen}
    condition = own.get(incident.detector, own.get(CHANGE))
    if condition is None:
        return incident
    return _well(incident, now, settings) if condition is Condition.WELL else _unheard(incident, now, settings)


def _worse(incident: Incident, sighting: Sighting, now: int) -> Incident:
    graver = sighting.severity > incident.severity
    return replace(
        incident,
        kind=sighting.kind if graver else incident.kind,
        title=sighting.title if graver else incident.title,
        severity=max(sighting.severity, incident.severity),
        updated=now,
        quiet_since=None,
        note="",
    )


def _held(incident: Incident, now: int, settings: WatchSettings) -> Incident:
    """Open while an alert fires, whatever else is seen; alerts that fire are told again every few hours."""
    if now - incident.updated < settings.abandon_after_s * 1e9:
        return incident
    return replace(incident, state=State.CLOSED, closed=now, alerts=(), note="given up: its alert was not told again")


def _well(incident: Incident, now: int, settings: WatchSettings) -> Incident:
    since = now if incident.quiet_since is None else incident.quiet_since
    if now - since < settings.close_after_s * 1e9:
        return replace(incident, quiet_since=since, note="")
    return replace(incident, state=State.CLOSED, closed=now, updated=now, quiet_since=since, note="")


def _unheard(incident: Incident, now: int, settings: WatchSettings) -> Incident:
    """Nothing that could show it is over: it goes on, and says since when nobody knows."""
    note = incident.note or f"not enough telemetry since {rfc3339(now)} to tell whether it is over"
    if now - incident.updated < settings.abandon_after_s * 1e9:
        return replace(incident, quiet_since=None, note=note)
    return replace(incident, state=State.CLOSED, closed=now, quiet_since=None, note=f"given up: {note}")


def _merged(incidents: Sequence[Incident], now: int) -> list[Incident]:
    """Of incidents of one kind and place that overlap the earliest remains; it is open if one of them is."""
    out: list[Incident] = []
    for incident in sorted(incidents, key=lambda i: (i.opened, i.id)):
        place = next((k for k, earlier in enumerate(out) if _overlap(earlier, incident, now)), None)
        if place is None:
            out.append(incident)
        else:
            out[place] = _together(out[place], incident)
            out.append(_into(incident, out[place], now))
    return out


def _overlap(earlier: Incident, later: Incident, now: int) -> bool:
    if State.MERGED in (earlier.state, later.state) or _key(earlier) != _key(later):
        return False
    return later.onset < (now + 1 if earlier.closed is None else earlier.closed)


def _together(earlier: Incident, later: Incident) -> Incident:
    """The earlier one with what the later one adds; a diagnosis is wanted again."""
    graver = later if later.severity > earlier.severity else earlier
    going = later if later.state is State.OPEN and later.quiet_since is None else earlier
    going = later if earlier.state is State.CLOSED else going
    return replace(
        earlier,
        state=going.state,
        closed=going.closed,
        quiet_since=going.quiet_since,
        note=going.note,
        kind=graver.kind,
        title=graver.title,
        severity=graver.severity,
        updated=max(earlier.updated, later.updated),
        alerts=tuple(dict.fromkeys((*earlier.alerts, *later.alerts)))[:ALERTS],
        agreed=0,
    )


def _into(incident: Incident, survivor: Incident, now: int) -> Incident:
    return replace(incident, state=State.MERGED, merged_into=survivor.id, closed=incident.closed or now, updated=now)
