"""What is said of the other causes where telemetry is lost."""

from __future__ import annotations

from correlator.model.evidence import Kind
from correlator.model.findings import Verdict
from hypotheses._judge import judge_all
from hypotheses._registry import all_hypotheses
from tests.hypotheses.evidence import served, window


def test_what_is_not_seen_refutes_nothing() -> None:
    """Only the loss of telemetry is supported, and every other cause is untestable for want of what is lost."""
    evidence = window(served(), then=served(lost=0.3))
    assert evidence.symptom is not None and Kind.TELEMETRY is evidence.symptom.kind
    judged = {j.hypothesis.id: j for j in judge_all([h for h in all_hypotheses() if h.predictions], evidence)}
    assert Verdict.SUPPORTED is judged.pop("telemetry_artifact").verdict
    assert [] == [id for id, j in judged.items() if j.verdict is not Verdict.UNTESTABLE]
    assert [] == [id for id, j in judged.items() if evidence.symptom.signal.name not in j.missing]


def test_one_cause_explains_it() -> None:
    """No other claim says that it brings about the loss of telemetry."""
    assert ["telemetry_artifact"] == [h.id for h in all_hypotheses() if h.predictions and Kind.TELEMETRY in h.explains]
