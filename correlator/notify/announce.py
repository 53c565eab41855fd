"""What targets are to be told: incidents as they are, compared with what each target was told last.

It looks at states, not at events: whatever a crash or a full disk swallowed is told at the next look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from correlator.model.incidents import Incident, State
from correlator.model.notices import Change, notice
from correlator.notify.outbox import Outbox, Put

DIAGNOSIS_WAIT_NS = 30_000_000_000
"""A new incident is told when it has been diagnosed, or after so long: one message with causes instead of two."""
LATE_NS = 3_600_000_000_000
MOST = 300

Told = Mapping[tuple[str, str], str]


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
    told = outbox.told()
    incidents = {incident.id: incident for incident in live(now - LATE_NS, MOST)}
    for id_ in {id_ for _, id_ in told} - incidents.keys():
        found = get(id_)
        if found is None:
            outbox.forget(id_)
        else:
            incidents[id_] = found
    puts = list(changes(told, [*incidents.values()], targets, now, public_url))
    if puts:
        outbox.put(puts)
    return len(puts)


def changes(
    told: Told, incidents: Sequence[Incident], targets: Sequence[str], now: int, public_url: str | None = None
) -> Iterator[Put]:
    """What each target does not know yet, in the order of incidents."""
    for incident in incidents:
        mark = mark_of(incident)
        for target in targets:
            change = _change(told.get((target, incident.id)), mark, incident, now)
            if change is not None:
                yield Put(target=target, notice=notice(change, incident, now, public_url), mark=mark)


def mark_of(incident: Incident) -> str | None:
    """What makes an incident worth another message when it changes: kind, first cause, its verdict. None when over."""
    if incident.state is not State.OPEN:
        return None
    findings = (incident.diagnosis or {}).get("findings")
    if not isinstance(findings, list) or not findings:
        return f"{incident.kind}"
    return f"{incident.kind}|{findings[0]['hypothesis']}|{findings[0]['verdict']}"


def _change(known: str | None, mark: str | None, incident: Incident, now: int) -> Change | None:
    if known is None:
        waits = incident.diagnosed is None and 0 <= now - incident.opened < DIAGNOSIS_WAIT_NS
        return None if mark is None or waits else Change.OPENED
    if mark is None:
        return Change.RESOLVED
    return Change.UPDATED if mark != known else None
