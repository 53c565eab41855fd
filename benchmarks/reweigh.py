"""What was said of an incident, weighed by another calibration: the outcomes stay, the probabilities are made anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmarks.corpus import NONE, Seen
from correlator.model.evidence import Interval
from correlator.model.findings import Outcome, PredictionResult, Reading, Role, Verdict
from hypotheses._contract import Hypothesis
from hypotheses._judge import Judged
from hypotheses._probability import Calibration, probabilities
from hypotheses._registry import all_hypotheses


def reweighed(seen: Iterable[Seen], calibration: Calibration) -> Iterator[Seen]:
    """The same answers with the probabilities of another calibration."""
    for one in seen:
        causes, roles = as_judged(one)
        chances = probabilities(causes, roles, calibration, one.well) if causes else {}
        told = {name: replace(one.findings[name], probability=chances[name]) for name in chances}
        yield replace(one, findings=told)


def as_judged(one: Seen) -> tuple[list[Judged], dict[str, Role]]:
    """The causes as the engine judged them, and the roles they played."""
    known = {hypothesis.id: hypothesis for hypothesis in all_hypotheses()}
    causes = [_judged(known[name], one) for name in one.findings if name != NONE and name in known]
    return causes, {name: Role(told.role) for name, told in one.findings.items() if told.role}


def _judged(hypothesis: Hypothesis, one: Seen) -> Judged:
    told = one.findings[hypothesis.id]
    necessary = {p.id: p.necessary for p in hypothesis.predictions}
    results = tuple(
        PredictionResult(name, "", necessary.get(name, True), Reading(Outcome(outcome), ""))
        for name, outcome in told.outcomes.items()
    )
    share = None if told.share is None else Interval(told.share, told.share, told.share, "1")
    return Judged(hypothesis, results, Verdict(told.verdict), share, (), "", told.doubted)
