"""Predictions read, false discoveries controlled, one verdict a hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from correlator.model.effects import false_discovery
from correlator.model.evidence import Evidence, Interval, Kind
from correlator.model.findings import Outcome, PredictionResult, Reading, Verdict
from hypotheses._contract import Hypothesis

_MILDER = {Kind.AVAILABILITY: Kind.ERRORS}
"""What makes requests fail can make nearly all of them fail."""
FALSE_DISCOVERIES = 0.1
"""Expected share of false ones among the predictions called held, over all hypotheses of a diagnosis."""

BLIND = "telemetry is lost: what it does not show may have happened all the same"


@dataclass(frozen=True, slots=True)
class Judged:
    """A hypothesis with its predictions read and its verdict; `doubted` where what was read says nothing of it."""

    hypothesis: Hypothesis
    results: tuple[PredictionResult, ...]
    verdict: Verdict
    share: Interval | None
    missing: tuple[str, ...]
    reason: str
    doubted: bool = False


def judge_all(hypotheses: Sequence[Hypothesis], evidence: Evidence) -> tuple[Judged, ...]:
    """Read every prediction of every hypothesis, control false discoveries over all of them, judge."""
    read = [_read(h, evidence) for h in hypotheses]
    flat = [r for results in read for r in results]
    q_values = false_discovery([r.reading.p_value for r in flat])
    controlled = iter([_controlled(r, q) for r, q in zip(flat, q_values, strict=True)])
    return tuple(
        _judged(h, tuple(next(controlled) for _ in results), evidence)
        for h, results in zip(hypotheses, read, strict=True)
    )


def _read(hypothesis: Hypothesis, evidence: Evidence) -> list[PredictionResult]:
    return [
        PredictionResult(p.id, p.test.statement, p.necessary, p.test.read(evidence)) for p in hypothesis.predictions
    ]


def _controlled(result: PredictionResult, q: float | None) -> PredictionResult:
    reading = result.reading
    if reading.outcome is Outcome.HELD and q is not None and q > FALSE_DISCOVERIES:
        reading = replace(reading, outcome=Outcome.INCONCLUSIVE, reason=f"{reading.reason}; q = {q:.2f}")
    return replace(result, reading=reading, q_value=q)


def _judged(hypothesis: Hypothesis, results: tuple[PredictionResult, ...], evidence: Evidence) -> Judged:
    implicit = _implicit(hypothesis, evidence)
    verdict, reason = _verdict(implicit if implicit and _is_blind(evidence) else (*implicit, *results))
    results = (*implicit, *results)
    if verdict is Verdict.SUPPORTED and evidence.symptom is None:
        verdict, reason = Verdict.UNTESTABLE, "no symptom beyond noise: there is nothing to explain"
    missing = tuple(dict.fromkeys(m for r in results for m in r.reading.missing))
    share = None if verdict is Verdict.REFUTED else _share(hypothesis, results)
    return Judged(hypothesis, results, verdict, share, missing, reason)


def _share(hypothesis: Hypothesis, results: tuple[PredictionResult, ...]) -> Interval | None:
    """The effect of the prediction that measures the share of the symptom, if it could be read."""
    measuring = {p.id for p in hypothesis.predictions if p.test.measures_share}
    return next((r.reading.effect for r in results if r.id in measuring and r.reading.effect), None)


def _implicit(hypothesis: Hypothesis, evidence: Evidence) -> tuple[PredictionResult, ...]:
    """What every claim predicts: the symptom is of a kind that it can cause."""
    symptom = evidence.symptom
    if symptom is None or {symptom.kind, _MILDER.get(symptom.kind)} & hypothesis.explains:
        return ()
    kinds = ", ".join(sorted(hypothesis.explains))
    reading = Reading(Outcome.FAILED, f"the symptom is of kind {symptom.kind}, this cause brings about {kinds}")
    if _is_blind(evidence):
        reading = Reading(Outcome.UNTESTABLE, BLIND, missing=(symptom.signal.name,))
    return (PredictionResult("explains_the_symptom", f"the symptom is one of {kinds}", True, reading),)


def _is_blind(evidence: Evidence) -> bool:
    """Telemetry is lost: what shows nowhere may have happened, so no other cause is refuted."""
    return evidence.symptom is not None and evidence.symptom.kind is Kind.TELEMETRY


def _verdict(results: tuple[PredictionResult, ...]) -> tuple[Verdict, str]:
    necessary = [r for r in results if r.necessary]
    separating = [r for r in results if not r.necessary]

    def first(group: list[PredictionResult], outcome: Outcome) -> PredictionResult | None:
        return next((r for r in group if r.reading.outcome is outcome), None)

    if killer := first(necessary, Outcome.FAILED):
        return Verdict.REFUTED, f"{killer.id}: {killer.reading.reason}"
    if blind := first(necessary, Outcome.UNTESTABLE):
        return Verdict.UNTESTABLE, f"{blind.id}: {blind.reading.reason}"
    if unclear := first(necessary, Outcome.INCONCLUSIVE):
        return Verdict.INCONCLUSIVE, f"{unclear.id}: {unclear.reading.reason}"
    if held := first(separating, Outcome.HELD):
        return Verdict.SUPPORTED, f"every necessary prediction held; {held.id}: {held.reading.reason}"
    if blind := first(separating, Outcome.UNTESTABLE):
        return Verdict.UNTESTABLE, f"nothing tells it from its rivals; {blind.id}: {blind.reading.reason}"
    return Verdict.INCONCLUSIVE, "every necessary prediction held, but nothing tells it from its rivals"
