"""What the engine answers: outcomes of predictions, verdicts, findings, and the whole diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from correlator.model.evidence import Coverage, Interval, Symptom, Windows


class Outcome(StrEnum):
    """Of one prediction. `inconclusive`: it was tested and the interval straddles the line."""

    HELD = "held"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    UNTESTABLE = "untestable"


class Verdict(StrEnum):
    """Of one hypothesis."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    UNTESTABLE = "untestable"


class Role(StrEnum):
    """A root cause, the way it works, or something that merely moved along."""

    ROOT = "root"
    MECHANISM = "mechanism"
    BYSTANDER = "bystander"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a test read off the evidence.

    `p_value` is one-sided for the claim; `missing` names signals that would have been needed.
    """

    outcome: Outcome
    reason: str
    effect: Interval | None = None
    p_value: float | None = None
    blocks: int = 0
    trace_ids: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PredictionResult:
    """One prediction, its statement, what came of it, and its false-discovery-adjusted q-value."""

    id: str
    statement: str
    necessary: bool
    reading: Reading
    q_value: float | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The next smallest experiment: why, a command that can be run by hand, and what to expect.

    `cost` and `risk` run from 1 (a look, harmless) to 5 (hours, touches all users); they rank experiments.
    """

    id: str
    why: str
    command: str
    expect: str
    cost: int = 2
    risk: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One hypothesis judged; `doubted` where what was read says nothing of it, and the verdict is none."""

    hypothesis: str
    claim: str
    verdict: Verdict
    probability: float
    role: Role | None = None
    share: Interval | None = None
    scope: Mapping[str, str] = field(default_factory=dict)
    predictions: tuple[PredictionResult, ...] = ()
    missing: tuple[str, ...] = ()
    experiment: Experiment | None = None
    remedy: str = ""
    reason: str = ""
    via: tuple[str, ...] = ()
    doubted: bool = False


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Mean seconds a request spent in one part, before and during, and its share of the change."""

    part: str
    baseline_s: float
    incident_s: float
    share: float | None


class Placebo(StrEnum):
    """Whether the first finding comes up where nothing happened, between the baseline's halves."""

    PASSED = "passed"
    TOO_LITTLE_DATA = "too little data"


@dataclass(frozen=True, slots=True)
class Stability:
    """Self-attack: how often the first finding stayed first, and what moved it.

    `placebo` is None where the first finding was not supported to begin with.
    """

    runs: int = 0
    top_kept: int = 0
    onset_shift_s: float = 0.0
    changed_by: tuple[str, ...] = ()
    rank_kept: Mapping[str, float] = field(default_factory=dict)
    placebo: Placebo | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """A span in a waterfall: seconds from the start of its trace."""

    name: str
    service: str
    part: str
    depth: int
    start_s: float
    duration_s: float
    error: bool = False


@dataclass(frozen=True, slots=True)
class Waterfall:
    """One example trace."""

    trace_id: str
    period: str
    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Illustration:
    """What a report draws: the symptom over time (Unix ns, value) and a few example traces."""

    timeline: tuple[tuple[int, float], ...] = ()
    unit: str = "s"
    waterfalls: tuple[Waterfall, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The whole answer, most probable finding first."""

    symptom: Symptom | None
    windows: Windows | None
    ledger: tuple[LedgerLine, ...]
    findings: tuple[Finding, ...]
    none_of_these: float
    stability: Stability
    coverage: Coverage
    version: str
    elapsed_s: float = 0.0
    illustration: Illustration = field(default_factory=Illustration)
    next_experiment: Experiment | None = None
