"""Incidents: a symptom noticed by the watcher, from its onset until it has been quiet. Times are Unix nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from correlator.model.evidence import Kind, Window

AGREEING = 2
"""Diagnoses in a row that must agree with the one before them until an incident counts as settled."""
PAGE_LIMIT = 500
"""Most incidents on a page."""


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
    row that agreed with the one before.
    """

    id: str
    version: int = 1
    state: State = State.OPEN
    detector: str
    kind: Kind
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


def incident_id(kind: Kind, where: str, opened: int) -> str:
    """The same incident has the same id on every run."""
    return sha256(f"{kind}|{where}|{opened}".encode()).hexdigest()[:16]
