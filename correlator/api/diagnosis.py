"""The object of a diagnosis, as OpenAPI tells it; `docs/diagnosis.schema.json` says the same for the command line."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from correlator.model.evidence import Kind
from correlator.model.findings import Outcome, Role, Verdict

Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Number = Annotated[float | None, Field(description="Finite, or null where it is not known.")]
Chance = Annotated[float | None, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WindowValue(_Shape):
    """A window and the symptom's value in it."""

    start: Moment | None
    end: Moment | None
    value: Number


class Ratio(_Shape):
    """Incident over baseline with its 90 % interval; null where the baseline is zero."""

    ratio: Number
    low: Number
    high: Number


class Symptom(_Shape):
    """What is to be explained."""

    kind: Kind
    where: str
    onset: Moment
    baseline: WindowValue
    incident: WindowValue
    change: Ratio


class LedgerLine(_Shape):
    """Mean seconds a request spent in one part, and the part's share of the whole change."""

    part: str
    baseline_s: Number
    incident_s: Number
    share: Number


class Share(_Shape):
    """Share of the symptom accounted for, with its 90 % interval."""

    value: Number
    low: Number
    high: Number


class Effect(Share):
    """An effect with its 90 % interval, and its unit."""

    unit: str


class Prediction(_Shape):
    """One consequence of the claim, and what came of it."""

    id: str
    statement: str
    outcome: Outcome
    necessary: bool
    effect: Effect | None
    q_value: Chance
    blocks: Count
    trace_ids: list[str]


class Experiment(_Shape):
    """The next smallest experiment."""

    id: str
    why: str
    command: str
    expect: str


class Finding(_Shape):
    """One hypothesis, judged."""

    hypothesis: str
    claim: str
    verdict: Verdict
    role: Role | None
    probability: Chance
    share: Share | None
    scope: dict[str, str]
    predictions: list[Prediction]
    missing: list[str]
    experiment: Experiment | None
    remedy: str


class Stability(_Shape):
    """How often the first finding stayed first in re-runs, and what moved it."""

    runs: Count
    top_kept: Count
    onset_shift_s: Number
    changed_by: list[str]
    rank_kept: dict[str, Number]
    placebo: str | None


class Extent(_Shape):
    """A stretch of time."""

    start: Moment
    end: Moment


class Compared(_Shape):
    """The two stretches that were compared."""

    baseline: Extent
    incident: Extent


class Coverage(_Shape):
    """What the answer stands on; `windows` is null where nothing could be compared."""

    windows: Compared | None
    records: dict[str, Count]
    signals: dict[str, dict[str, Any]]
    watched: list[str]
    problems: dict[str, Count]
    messages: list[str]
    orphan_share: Number
    sampled_traces: Count | None
    clock_skew_s: Number


class Diagnosis(_Shape):
    """The answer to what got worse and why; findings are ordered, the most probable first."""

    symptom: Symptom | None
    ledger: list[LedgerLine]
    findings: list[Finding]
    none_of_these: Annotated[Chance, Field(description="Probability that the cause is not on the list.")]
    stability: Stability
    coverage: Coverage
    version: str
    elapsed_s: Number
