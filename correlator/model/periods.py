"""What got worse, and the stretches of time that are compared.

Apart from the evidence, because importing its frames takes 50 MiB: settings, incidents and notices speak of these,
and a process that only reads settings lives for months.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What got worse."""

    LATENCY = "latency"
    ERRORS = "errors"
    AVAILABILITY = "availability"
    THROUGHPUT = "throughput"
    QUALITY = "quality"
    TELEMETRY = "telemetry"


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open stretch of time, Unix nanoseconds."""

    start: int
    end: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end - self.start) / 1e9


@dataclass(frozen=True, slots=True)
class Windows:
    """The two stretches that are compared; `given` says whether the user chose them."""

    baseline: Window
    incident: Window
    given: bool = False
