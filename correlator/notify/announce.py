"""What targets are to be told: incidents as they are, compared with what each target was told last.

It looks at states, not at events: whatever a crash or a full disk swallowed is told at the next look, also what
opened and closed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from correlator.model.incidents import Incident, State
from correlator.model.notices import Change, notice
from correlator.notify.outbox import Outbox, Put

DIAGNOSIS_WAIT_NS = 30_000_000_000
"""A new incident is told when it has been diagnosed, or after so long: one message with causes instead of two."""
LATE_NS = 3_600_000_000_000
MOST = 300


@dataclass(frozen=True, slots=True)
class Known:
    """What targets know: of (target, incident) the mark, or when it closed as told; and since when each is told."""

    told: Mapping[tuple[str, str], str]
    ended: Mapping[tuple[str, str], int] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)


def announce(
    outbox: Outbox,
    targets: Sequence[str],
    live: Callable[[int, int], Sequence[Incident]],
    get: Callable[[str], Incident | None],
    public_url: str | None,
    now: int,
) -> int:
    """Put into the outbox what is new: how many notices. `live` gives those open or closed since a time, so many."""
    if not targets:
        return 0
    known = Known(outbox.told(), outbox.ended(), outbox.since(targets, now))
    incidents = {incident.id: incident for incident in live(now - LATE_NS, MOST)}
    for id_ in {id_ for _, id_ in known.told} - incidents.keys():
        found = get(id_)
        if found is None:
            outbox.forget(id_)
        else:
            incidents[id_] = found
    puts = list(changes(known, [*incidents.values()], targets, now, public_url))
    if puts:
        outbox.put(puts)
    return len(puts)


def changes(
    known: Known, incidents: Sequence[Incident], targets: Sequence[str], now: int, public_url: str | None = None
) -> Iterator[Put]:
    """What each target does not know yet, in the order of incidents."""
    for incident in incidents:
        mark = mark_of(incident)
        for target in targets:
            for change in _changes(known, target, mark, incident, now):
                yield Put(target=target, notice=notice(change, incident, now, public_url), mark=mark)


def mark_of(incident: Incident) -> str | None:
    """What makes an incident worth another message when it changes: kind, first cause, its verdict. None when over."""
    if incident.state is not State.OPEN:
        return None
    findings = (incident.diagnosis or {}).get("findings")
    if not isinstance(findings, list) or not findings:
        return f"{incident.kind}"
    return f"{incident.kind}|{findings[0]['hypothesis']}|{findings[0]['verdict']}"


def _changes(known: Known, target: str, mark: str | None, incident: Incident, now: int) -> tuple[Change, ...]:
    before = known.told.get((target, incident.id))
    if before is not None:
        return () if mark == before else (Change.RESOLVED if mark is None else Change.UPDATED,)
    if mark is None:
        return (Change.OPENED, Change.RESOLVED) if _was_missed(known, target, incident) else ()
    waits = incident.diagnosed is None and 0 <= now - incident.opened < DIAGNOSIS_WAIT_NS
    return () if waits else (Change.OPENED,)


def _was_missed(known: Known, target: str, incident: Incident) -> bool:
    """It opened and closed between two looks. One that became part of another is told as that other."""
    if incident.state is not State.CLOSED or incident.closed is None:
        return False
    is_ours = max(incident.opened, incident.closed) >= known.since.get(target, 0)
    return is_ours and known.ended.get((target, incident.id)) != incident.closed
