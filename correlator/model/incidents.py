"""Incidents: a symptom noticed by the watcher, from its onset until it has been quiet. Times are Unix nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from correlator.model.moments import rfc3339
from correlator.model.periods import Kind, Window

AGREEING = 2
"""Diagnoses in a row that must agree with the one before them until an incident counts as settled."""
PAGE_LIMIT = 500
"""Most incidents on a page."""
ENGINE = "serving engine"
"""Where a symptom is that was measured of the system and not of single requests."""


class State(StrEnum):
    """`merged`: it turned out to be part of another incident, named by `merged_into`."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One version of an incident; the highest `version` of an id holds.

    `detector` is what noticed it. `severity` is 1 at the smallest effect worth naming, or at the limit of an
    objective. `baseline` is the stretch before the onset that it is compared with. `quiet_since` is since when it has
    been seen to be well; `note` says what keeps it open although nothing bad is seen. `agreed` counts diagnoses in a
    row that agreed with the one before; `failure` says why the last one could not be made. `kind` is None while only
    an alert is known that does not tell; `alerts` are the fingerprints of those that still fire.
    """

    id: str
    version: int = 1
    state: State = State.OPEN
    detector: str
    kind: Kind | None
    where: str
    title: str
    severity: float
    onset: int
    opened: int
    updated: int
    closed: int | None = None
    baseline: Window
    note: str = ""
    quiet_since: int | None = None
    diagnosed: int | None = None
    agreed: int = 0
    failure: str = ""
    alerts: tuple[str, ...] = ()
    diagnosis: Mapping[str, object] | None = None
    merged_into: str | None = None

    @property
    def settled(self) -> bool:
        """No further diagnosis is wanted: the last ones agreed, or it is over."""
        return self.state is not State.OPEN or self.agreed >= AGREEING


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which incidents: those that were under way between `since` and `until`; `cursor` is a page's `next`."""

    state: State | None = None
    kind: Kind | None = None
    where: str | None = None
    since: int | None = None
    until: int | None = None
    cursor: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Page:
    """Incidents without their diagnoses, latest opened first; `next` is the cursor of the page that follows."""

    incidents: tuple[Incident, ...]
    next: str | None


def incident_id(kind: Kind | None, where: str, opened: int) -> str:
    """The same incident has the same id on every run."""
    return sha256(f"{kind}|{where}|{opened}".encode()).hexdigest()[:16]


def head_object(incident: Incident) -> dict[str, object]:
    """The incident without its diagnosis, in the plain form that API and notices share: times are RFC 3339."""
    times = {name: getattr(incident, name) for name in ("onset", "opened", "updated", "closed", "diagnosed")}
    baseline = incident.baseline
    return {
        **{name: getattr(incident, name) for name in _SAME},
        **{name: None if at is None else rfc3339(at) for name, at in times.items()},
        "baseline_start": rfc3339(baseline.start),
        "baseline_end": rfc3339(baseline.end),
    }


def as_object(incident: Incident) -> dict[str, object]:
    """The same with its diagnosis."""
    return head_object(incident) | {"diagnosis": incident.diagnosis}


_SAME = ("id", "state", "detector", "kind", "where", "title", "severity", "note", "failure", "settled", "merged_into")
