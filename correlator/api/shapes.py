"""Bodies of requests and answers. Times are RFC 3339."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from correlator.api.diagnosis import Count, Diagnosis, Experiment, Moment, Number
from correlator.api.times import Time
from correlator.model.evidence import Kind, Window, Windows
from correlator.model.incidents import Page, State, head_object

Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]

LONGEST_NS = 86_400_000_000_000
"""Longest stretch that is diagnosed: every metric point of it is read."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Stretch(_Body):
    """A stretch of time, its end not in it."""

    start: Time
    end: Time

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if not 0 < self.end - self.start <= LONGEST_NS:
            raise ValueError("expected an end after the start, by a day at most")
        return self

    def window(self) -> Window:
        """The same inside."""
        return Window(self.start, self.end)


class Question(_Body):
    """What to diagnose: the incident against the baseline; all symptoms and services unless told."""

    baseline: Stretch
    incident: Stretch
    symptom: Kind | None = None
    where: Text | None = Field(default=None, description="Only the requests of this service.")

    def windows(self) -> Windows:
        """The same inside."""
        return Windows(self.baseline.window(), self.incident.window(), given=True)


class IncidentHead(_Body):
    """An incident without its diagnosis."""

    id: str
    state: State
    detector: str = Field(description="What noticed it: `change`, or `slo:` or `alert:` and a name.")
    kind: Kind | None = Field(description="null: an alert told of it, and nothing shows yet what got worse.")
    where: str
    title: str
    severity: Number = Field(description="1 at the smallest effect worth naming, or at the limit of the objective.")
    onset: Moment
    opened: Moment
    updated: Moment
    closed: Moment | None
    baseline_start: Moment
    baseline_end: Moment
    note: str = Field(description="What keeps it open although nothing bad is seen; empty otherwise.")
    failure: str = Field(description="Why the last diagnosis could not be made; empty otherwise.")
    diagnosed: Moment | None
    settled: bool = Field(description="No further diagnosis is wanted.")
    merged_into: str | None


class IncidentWhole(IncidentHead):
    """An incident with its latest diagnosis, null where there is none yet."""

    diagnosis: Diagnosis | None


class IncidentPage(_Body):
    """Incidents, latest opened first; `next` is the cursor of the following page, null on the last."""

    incidents: list[IncidentHead]
    next: str | None


class SpanEvent(_Body):
    """Something that happened during a span."""

    time: Moment
    name: str
    attributes: dict[str, str]


class Span(_Body):
    """One span; `offset_s` counts from the start of the trace."""

    span_id: str
    parent_span_id: str
    name: str
    kind: str
    service: str
    start: Moment
    offset_s: float
    duration_s: float
    status: str
    message: str
    attributes: dict[str, str]
    resource: dict[str, str]
    events: list[SpanEvent]


class Trace(_Body):
    """The spans of a trace in order of their start."""

    trace_id: str
    spans: list[Span]
    truncated: bool = Field(description="There are more spans than are shown.")


class HypothesisPrediction(_Body):
    """One consequence of a claim that data can contradict."""

    id: str
    statement: str
    necessary: bool = Field(description="If it fails, the claim is refuted.")
    signals: list[str]


class Hypothesis(_Body):
    """One claim about a cause."""

    id: str
    claim: str
    explains: list[Kind]
    predictions: list[HypothesisPrediction]
    rivals: list[str]
    upstream_of: list[str]
    experiment: Experiment | None
    remedy: str


class Hypotheses(_Body):
    """All claims, by id."""

    hypotheses: list[Hypothesis]


class Signal(_Body):
    """A canonical signal that has data."""

    name: str
    unit: str
    meaning: str
    sources: list[str] = Field(description="`requests`: known of single requests; `series`: measured over time.")
    rows: Count
    interval_s: Number = Field(description="Median seconds between two measurements.")
    last_seen: Moment


class Signals(_Body):
    """What was measured in the ten minutes before the latest telemetry, of 200 traces at most."""

    signals: list[Signal]


class Connection(_Body):
    """GPUs and what serves on them."""

    gpus: list[str] = Field(description="Ids of the GPUs; empty where none is tied.")
    serves: str | None = Field(description="The engine's service, instance and machine; null where nobody is tied.")
    tied_by: str | None = Field(description="The attributes that name the same on both sides, and what they name.")
    reason: str = Field(description="Why there is no tie.")


class Connections(_Body):
    """What ties GPUs to what serves on them, in the hour before the latest telemetry."""

    connections: list[Connection]


class Health(_Body):
    """The answer to a probe."""

    status: str


def page(found: Page) -> dict[str, object]:
    """IncidentPage of a page."""
    return {"incidents": [head_object(incident) for incident in found.incidents], "next": found.next}
