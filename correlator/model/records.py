"""What flows from a reader or receiver to the store: OTLP bytes, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Signal(StrEnum):
    """A kind of telemetry, named as in the OTLP paths (`/v1/traces` …)."""

    TRACES = "traces"
    METRICS = "metrics"
    LOGS = "logs"


@dataclass(frozen=True, slots=True)
class Batch:
    """One serialized `Export{Trace,Metrics,Logs}ServiceRequest`."""

    signal: Signal
    payload: bytes


@dataclass(frozen=True, slots=True)
class Problem:
    """A piece of input that could not be used; everything around it still is.

    `source` is the file (or `-` for standard input), `line` counts from 1, `field` is the
    path inside the record, `reason` says what was expected. `kind` groups problems for
    counting: unreadable, malformed, truncated, bad_time, duplicate, orphan, unsupported, rejected.
    `count` says how many records of this kind the message stands for.
    """

    source: str
    reason: str
    kind: str = "malformed"
    line: int | None = None
    field: str | None = None
    count: int = 1

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        field = f" {self.field}:" if self.field else ""
        return f"{place}:{field} {self.reason}" + (f" (×{self.count})" if self.count > 1 else "")
