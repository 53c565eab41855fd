"""From outcomes to probabilities, by likelihood ratios that live in a reviewable file.

Each outcome multiplies a hypothesis's odds by P(outcome | claim true) / P(outcome | claim false). Causes
compete with each other and with *none of these*, whose weight the file sets; the result sums to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from correlator.model.findings import PredictionResult, Role, Verdict
from hypotheses._judge import Judged

NONE_OF_THESE = "none_of_these"


Weight = Annotated[float, Field(gt=0)]


class Ratios(BaseModel):
    """Likelihood ratio of each outcome."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    held: float = Field(gt=0)
    inconclusive: float = Field(gt=0)
    untestable: float = Field(gt=0)
    failed: float = Field(gt=0)


class Calibration(BaseModel):
    """Prior weights and likelihood ratios; `predictions` overrides the defaults for `hypothesis.prediction`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: str
    source: str = Field(description="judgement, or the command and seed that learnt the numbers")
    priors: Mapping[str, Weight] = Field(default_factory=dict)
    necessary: Ratios
    separating: Ratios
    predictions: Mapping[str, Ratios] = Field(default_factory=dict)
    share_floor: float = Field(gt=0, le=1, description="weight of a cause that accounts for nothing")
    verdict_weight: Mapping[Verdict, Weight] = Field(description="weight of a verdict beyond its outcomes")
    mechanism_weight: float = Field(gt=0, le=1)
    no_symptom_weight: float = Field(
        gt=1, description="how much likelier none_of_these is of a service seen to be well"
    )


def probabilities(
    judged: Sequence[Judged], roles: Mapping[str, Role], calibration: Calibration, well: bool
) -> dict[str, float]:
    """Probability of each hypothesis being the root cause, `none_of_these` included; they sum to one.

    `well`: nothing got worse where that would have been seen.
    """
    weights = {name: exp(value) for name, value in log_weights(judged, roles, calibration, well).items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def log_weights(
    judged: Sequence[Judged], roles: Mapping[str, Role], calibration: Calibration, well: bool
) -> dict[str, float]:
    """Logarithm of what each hypothesis weighs, `none_of_these` included: linear in those of the calibration."""
    nothing = calibration.priors.get(NONE_OF_THESE, 1.0) * (calibration.no_symptom_weight if well else 1.0)
    weights = {j.hypothesis.id: _log_weight(j, roles.get(j.hypothesis.id), calibration) for j in judged}
    return weights | {NONE_OF_THESE: log(nothing)}


def _log_weight(judged: Judged, role: Role | None, calibration: Calibration) -> float:
    name = judged.hypothesis.id
    total = log(calibration.priors.get(name, 1.0)) + log(calibration.verdict_weight[judged.verdict])
    if not judged.doubted:
        total += sum(_log_ratio(name, result, calibration) for result in judged.results)
    if judged.share is not None:
        total += log(min(1.0, max(calibration.share_floor, judged.share.value)))
    if role in (Role.MECHANISM, Role.BYSTANDER):
        total += log(calibration.mechanism_weight)
    return total


def _log_ratio(name: str, result: PredictionResult, calibration: Calibration) -> float:
    default = calibration.necessary if result.necessary else calibration.separating
    ratios = calibration.predictions.get(f"{name}.{result.id}", default)
    value: float = getattr(ratios, result.reading.outcome.value)
    return log(value)
