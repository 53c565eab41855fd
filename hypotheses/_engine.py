"""Evidence → findings: judge every hypothesis, find roots, weigh, order, and attack the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

from correlator.model.evidence import Evidence
from correlator.model.findings import Experiment, Finding, Placebo, Role, Stability, Verdict
from correlator.model.names import LATENCY
from hypotheses._attack import FindSymptom, onset_shift, under_placebo, variations
from hypotheses._chain import roles
from hypotheses._contract import Hypothesis
from hypotheses._judge import Judged, judge_all
from hypotheses._probability import NONE_OF_THESE, Calibration, probabilities
from hypotheses._scope import scope_of

PLACEBO = "a placebo (the baseline's first half against its second) supports it as well"
CONTENDERS = 4
"""The most probable findings compete again under each variation; the others were refuted by a wide margin."""


@dataclass(frozen=True)
class Answer:
    """Findings, most probable first, and how firmly they stand."""

    findings: tuple[Finding, ...]
    none_of_these: float
    stability: Stability
    next_experiment: Experiment | None = None


@dataclass(frozen=True)
class Engine:
    """Judges evidence. `how_to_measure` tells for a signal how to switch it on."""

    hypotheses: Sequence[Hypothesis]
    calibration: Calibration
    find_symptom: FindSymptom
    how_to_measure: Mapping[str, str]

    def answer(self, evidence: Evidence, attack: bool = True) -> Answer:
        """The findings for evidence with windows and symptom set."""
        judged, placebo = self._judged(evidence)
        findings = self._findings(judged, evidence)
        stability = self._attacked(findings, evidence) if attack and evidence.symptom else Stability()
        stability = replace(stability, placebo=_told(placebo.get(findings[0].hypothesis)))
        nothing = next(f.probability for f in findings if f.hypothesis == NONE_OF_THESE)
        return Answer(findings, nothing, stability, next_experiment(findings) if evidence.symptom else None)

    def _judged(self, evidence: Evidence) -> tuple[tuple[Judged, ...], Mapping[str, Verdict]]:
        """Every cause judged, those that a placebo supports as well doubted; and the placebo's verdicts."""
        judged = judge_all(self._causes(), evidence)
        supported = [j.hypothesis for j in judged if j.verdict is Verdict.SUPPORTED]
        placebo = under_placebo(supported, evidence, self.find_symptom)
        fooled = {name for name, verdict in placebo.items() if verdict is Verdict.SUPPORTED}
        judged = tuple(_doubted(j, PLACEBO) if j.hypothesis.id in fooled else j for j in judged)
        return _without_trust(judged), placebo

    def _causes(self) -> list[Hypothesis]:
        return [h for h in self.hypotheses if h.id != NONE_OF_THESE]

    def _findings(self, judged: Sequence[Judged], evidence: Evidence) -> tuple[Finding, ...]:
        parts, chances = self._weighed(judged, evidence)
        scope = scope_of(evidence)
        findings = [self._finding(j, parts.get(j.hypothesis.id), chances[j.hypothesis.id], scope) for j in judged]
        nothing = next((h for h in self.hypotheses if h.id == NONE_OF_THESE), None)
        if nothing is not None:
            findings.append(_none(nothing, chances[NONE_OF_THESE], findings, scope))
        return tuple(sorted(findings, key=lambda f: (-f.probability, f.hypothesis)))

    def _weighed(
        self, judged: Sequence[Judged], evidence: Evidence
    ) -> tuple[Mapping[str, tuple[Role, tuple[str, ...]]], Mapping[str, float]]:
        """Part in the chain and probability of each hypothesis."""
        parts = roles(judged, evidence)
        played = {name: role for name, (role, _) in parts.items()}
        return parts, probabilities(judged, played, self.calibration, is_well(evidence))

    def _finding(
        self,
        judged: Judged,
        part: tuple[Role, tuple[str, ...]] | None,
        probability: float,
        scope: Mapping[str, str],
    ) -> Finding:
        hypothesis = judged.hypothesis
        supported = judged.verdict is Verdict.SUPPORTED
        return Finding(
            hypothesis=hypothesis.id,
            claim=hypothesis.claim,
            verdict=judged.verdict,
            probability=probability,
            role=part[0] if part else None,
            share=judged.share,
            scope=scope if supported else {},
            predictions=judged.results,
            missing=judged.missing,
            experiment=self._experiment(judged),
            remedy=hypothesis.remedy,
            reason=judged.reason,
            via=part[1] if part else (),
            doubted=judged.doubted,
        )

    def _experiment(self, judged: Judged) -> Experiment | None:
        """Missing telemetry is an experiment too; a refuted cause needs none."""
        if judged.verdict is Verdict.REFUTED:
            return None
        if judged.verdict is not Verdict.UNTESTABLE or not judged.missing:
            return judged.hypothesis.experiment
        signal = judged.missing[0]
        command = self.how_to_measure.get(signal) or self.how_to_measure.get(signal.partition(".")[0])
        if command is None:
            return judged.hypothesis.experiment
        return Experiment(
            id=f"measure_{signal}",
            why=f"{judged.hypothesis.id} cannot be tested without {', '.join(judged.missing)}",
            command=command,
            expect="the verdict changes from untestable to supported or refuted",
            cost=1,
        )

    def _attacked(self, findings: Sequence[Finding], evidence: Evidence) -> Stability:
        top = findings[0].hypothesis
        likely = {f.hypothesis for f in findings[:CONTENDERS]}
        contenders = [h for h in self._causes() if h.id in likely]
        runs, kept, moved_by = 0, 0, []
        for name, changed in variations(evidence, self.find_symptom):
            _, chances = self._weighed(_without_trust(judge_all(contenders, changed)), changed)
            other = min(chances, key=lambda name: (-chances[name], name))
            runs += 1
            if other == top:
                kept += 1
            else:
                moved_by.append(f"{name}: {other}")
        shift = onset_shift(evidence.windows) / 1e9 if evidence.windows else 0.0
        return Stability(runs, kept, shift, tuple(moved_by), {top: kept / runs} if runs else {})


def is_well(evidence: Evidence) -> bool:
    """Nothing got worse, and it would have been seen: single requests were timed. An engine that is fast and logs no
    error says nothing of what lies before it."""
    return evidence.symptom is None and LATENCY.name in evidence.compared[0]


def next_experiment(findings: Sequence[Finding]) -> Experiment | None:
    """The experiment with the most expected information for its cost and risk.

    A yes-or-no experiment on a cause of probability p is expected to bring the entropy of p (at most one
    bit); cost and risk divide it. For a cause that is all but certain the confirming experiment remains.
    """
    worth = [(_entropy(f.probability) / (f.experiment.cost + f.experiment.risk), f) for f in findings if f.experiment]
    if not worth:
        return None
    return max(worth, key=lambda pair: (pair[0], pair[1].probability))[1].experiment


def _told(placebo: Verdict | None) -> Placebo | None:
    if placebo is None:
        return None
    return Placebo.TOO_LITTLE_DATA if placebo is Verdict.UNTESTABLE else Placebo.PASSED


def _entropy(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return -p * log2(p) - (1 - p) * log2(1 - p)


def _doubted(judged: Judged, reason: str) -> Judged:
    return replace(judged, verdict=Verdict.INCONCLUSIVE, reason=reason, doubted=True)


def _without_trust(judged: tuple[Judged, ...]) -> tuple[Judged, ...]:
    """Where the telemetry itself is in doubt, what was read from it supports nothing else."""
    doubting = [j for j in judged if j.hypothesis.doubts_telemetry and j.verdict is Verdict.SUPPORTED]
    if not doubting:
        return judged
    reason = f"{doubting[0].hypothesis.id} is supported: the evidence for this may be an artifact as well"
    return tuple(_doubted(j, reason) if j.verdict is Verdict.SUPPORTED and j not in doubting else j for j in judged)


def _none(hypothesis: Hypothesis, probability: float, others: Iterable[Finding], scope: Mapping[str, str]) -> Finding:
    """Where no cause is supported, that it is where it is remains known."""
    explained = any(f.verdict is Verdict.SUPPORTED for f in others)
    return Finding(
        hypothesis=hypothesis.id,
        claim=hypothesis.claim,
        verdict=Verdict.INCONCLUSIVE,
        probability=probability,
        scope={} if explained else scope,
        remedy=hypothesis.remedy,
        experiment=None if explained else hypothesis.experiment,
        reason="scored against every cause, never tested itself",
    )
