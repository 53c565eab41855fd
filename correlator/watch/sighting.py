"""What a look saw of one kind of symptom at one place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from correlator.model.evidence import Kind, Windows

CHANGE = "change"
"""The detector that compares with the stretch before; an objective is a detector named `slo:<name>`."""


class Condition(StrEnum):
    """`unknown`: nothing there that could show either. It is not well."""

    WORSE = "worse"
    WELL = "well"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sighting:
    """`severity` is 1 at the limit; `windows` are what was compared, the later one the latest."""

    detector: str
    kind: Kind
    where: str
    condition: Condition
    windows: Windows
    severity: float = 0.0
    title: str = ""


def family(kind: Kind) -> Kind:
    """Errors and no availability at all are one thing in two sizes."""
    return Kind.ERRORS if kind is Kind.AVAILABILITY else kind
