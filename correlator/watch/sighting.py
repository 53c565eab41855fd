"""What a look saw of one kind of symptom at one place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from correlator.model.periods import Kind, Windows

CHANGE = "change"
"""The detector that compares with the stretch before; an objective is a detector named `slo:<name>`."""
ALERT = "alert:"
"""What the detector of an incident that an alert opened begins with; the alert's name follows."""


class Condition(StrEnum):
    """`unknown`: nothing there that could show either. It is not well."""

    WORSE = "worse"
    WELL = "well"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sighting:
    """`severity` is 1 at the limit; `windows` are what was compared, the later one the latest.

    `alert` is the fingerprint of the alert that tells it, empty where the telemetry does. An alert may not tell a kind.
    """

    detector: str
    kind: Kind | None
    where: str
    condition: Condition
    windows: Windows
    severity: float = 0.0
    title: str = ""
    alert: str = ""


def family(kind: Kind | None) -> Kind | None:
    """Errors and no availability at all are one thing in two sizes."""
    return Kind.ERRORS if kind is Kind.AVAILABILITY else kind
