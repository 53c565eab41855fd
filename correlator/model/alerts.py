"""Alerts of other systems, as they come in, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """`fingerprint` tells it from others, and is the same when it is told again. Times are Unix nanoseconds.

    `starts` is when it began to fire, usually minutes after what it is about. `ends` is None while it fires.
    """

    name: str
    fingerprint: str
    starts: int
    ends: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


class Outcome(StrEnum):
    """What became of an alert. `unknown`: it ended, and no incident knew of it. `refused`: too many are open.

    `own`: it is about Tollens, or tells an incident of it; if it opened one, that one would tell of itself again.
    """

    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Taken:
    """The incident that an alert is now part of, or was until it ended."""

    fingerprint: str
    outcome: Outcome
    incident: str | None
