"""The engine at its door: probabilities, order, placebos, false discoveries, experiments and scope."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.model.evidence import Evidence
from correlator.model.findings import Finding, Outcome, Reading, Role, Verdict
from correlator.model.names import HOST_CPU, INPUT_TOKENS, KV_CACHE_USAGE, KV_PRESSURE, LATENCY
from correlator.wiring import how_to_measure
from hypotheses import Prediction, Test, necessary, separating
from hypotheses._engine import Answer
from hypotheses._registry import all_hypotheses
from tests.hypotheses.claims import GREW, HEALTHY, NONE, claim, engine, held_in_the_incident, of, says, supported
from tests.hypotheses.evidence import Case, Served, served, unseen, window

outcomes = st.sampled_from(Outcome)


@settings(max_examples=50)
@given(st.lists(st.tuples(outcomes, outcomes, st.floats(0, 1)), min_size=1, max_size=8), st.booleans())
def test_probabilities_sum_to_one_and_are_in_order(given_: list[tuple[Outcome, Outcome, float]], ill: bool) -> None:
    """Whatever the readings, the probabilities of all findings sum to one and the most probable is first."""
    claims = [
        claim(f"c{i}", necessary("n", says(a, share=share)), separating("s", says(b)))
        for i, (a, b, share) in enumerate(given_)
    ]
    answer = engine(*claims, NONE).answer(GREW if ill else HEALTHY, attack=False)
    chances = [f.probability for f in answer.findings]
    assert pytest.approx(1.0) == sum(chances)
    assert sorted(chances, reverse=True) == chances
    assert {c.id for c in claims} | {NONE.id} == {f.hypothesis for f in answer.findings}
    assert of(answer, NONE.id).probability == answer.none_of_these


def test_the_order_of_hypotheses_does_not_matter() -> None:
    """The same claims in another order give the same findings."""
    forward = engine().answer(GREW, attack=False)
    backward = engine(*reversed(all_hypotheses())).answer(GREW, attack=False)
    assert rounded(forward) == rounded(backward)


def rounded(answer: Answer) -> list[Finding]:
    """The findings, their probabilities free of the rounding that comes from adding in another order."""
    return [replace(f, probability=round(f.probability, 12)) for f in answer.findings]


def test_the_same_input_gives_the_same_answer() -> None:
    """Two answers over one evidence are equal, self-attack included."""
    assert engine().answer(GREW) == engine().answer(GREW)


def test_a_healthy_window_has_no_cause() -> None:
    """Without a symptom nothing is supported and `none_of_these` comes first."""
    assert HEALTHY.symptom is None
    answer = engine().answer(HEALTHY)
    assert [] == supported(answer)
    assert "none_of_these" == answer.findings[0].hypothesis
    assert answer.none_of_these > 0.9
    assert 0 == answer.stability.runs


@pytest.mark.parametrize(
    "then",
    [
        served(lost=0.5),
        served(warm_up=0.3),
        served(cpu=0.97),
        served(waiting=2),
    ],
    ids=["traces_lost", "warm_up", "cpu_full", "waiting"],
)
def test_what_moved_without_a_symptom_is_no_cause(then: Served) -> None:
    """Something that changed while nothing got worse is not called a cause."""
    evidence = replace(window(served(), then=then), symptom=None)
    answer = engine().answer(evidence, attack=False)
    assert [] == supported(answer)
    assert "none_of_these" == answer.findings[0].hypothesis


def test_a_cause_outside_the_catalogue_is_none_of_these() -> None:
    """Time that goes where no claim looks is left to `none_of_these`."""
    answer = engine().answer(window(served(), then=served(remainder=0.6)), attack=False)
    assert [] == supported(answer)
    assert "none_of_these" == answer.findings[0].hypothesis


def test_the_cause_comes_first() -> None:
    """The one claim that holds is first, is the root, and its share of the symptom is nearly all."""
    top = engine().answer(GREW, attack=False).findings[0]
    assert "input_token_inflation" == top.hypothesis
    assert Role.ROOT == top.role
    assert top.share is not None
    assert top.share.low > 0.7
    assert top.probability > 0.5


@pytest.mark.parametrize("id", [h.id for h in all_hypotheses() if h.predictions])
def test_each_cause_comes_first_in_its_own_world(id: str) -> None:
    """In the world that a cause made, it is the first finding, supported, and the root."""
    top = engine().answer(cause_of(id), attack=False).findings[0]
    assert (id, Verdict.SUPPORTED, Role.ROOT) == (top.hypothesis, top.verdict, top.role)


def cause_of(id: str) -> Evidence:
    cases: dict[str, Case] = import_module(f"tests.hypotheses.cases.{id}").CASES
    return next(case.evidence for case in cases.values() if case.verdict is Verdict.SUPPORTED)


def test_what_lost_traces_show_is_not_believed() -> None:
    """Where only slow traces arrive, answers only seem longer: long ones are the slow ones that are left."""
    answer = engine().answer(cause_of("telemetry_artifact"), attack=False)
    assert ["telemetry_artifact"] == supported(answer)


@settings(max_examples=12)
@given(st.data())
def test_holes_in_the_evidence_break_nothing(data: st.DataObject) -> None:
    """Whatever columns are missing and whatever cells are empty, there is an answer whose probabilities sum to one."""
    keep = ["trace_id", "start", "host", "period", "block", LATENCY.name]
    holed = []
    for frame in (GREW.requests, GREW.series):
        optional = [c for c in frame.columns if c not in keep]
        kept = data.draw(st.sets(st.sampled_from(optional)))
        hole = data.draw(st.floats(0, 1))
        cells = np.random.default_rng(1).random((len(frame), len(kept))) < hole
        numbers = frame[sorted(kept)].mask(pd.DataFrame(cells, frame.index, sorted(kept)))
        holed.append(pd.concat([frame[[c for c in keep if c in frame]], numbers], axis=1))
    answer = engine().answer(replace(GREW, requests=holed[0], series=holed[1]), attack=False)
    assert pytest.approx(1.0) == sum(f.probability for f in answer.findings)


def test_a_claim_that_a_placebo_supports_is_doubted() -> None:
    """What is also supported between the baseline's two halves is inconclusive, and says why."""
    gullible = claim("gullible", necessary("n", says(Outcome.HELD)), separating("s", says(Outcome.HELD)))
    answer = engine(gullible, claim("sound", *held_in_the_incident()), NONE).answer(GREW, attack=False)
    assert (Verdict.INCONCLUSIVE, Verdict.SUPPORTED) == (
        of(answer, "gullible").verdict,
        of(answer, "sound").verdict,
    )
    assert "placebo" in of(answer, "gullible").reason


def with_p(p: float) -> tuple[Prediction, ...]:
    def read(evidence: Evidence) -> Reading:
        real = evidence.windows == GREW.windows
        return Reading(Outcome.HELD if real else Outcome.FAILED, "given", None, p, 8)

    return necessary("n", Test("given", read)), separating("s", Test("given", read))


def test_many_claims_make_a_p_value_worth_less() -> None:
    """A p-value that supports one claim alone supports nothing among forty that found nothing."""
    lucky = claim("lucky", *with_p(0.04))
    crowd = [claim(f"c{i}", necessary("n", says(Outcome.INCONCLUSIVE, p=0.5))) for i in range(40)]
    assert ["lucky"] == supported(engine(lucky, NONE).answer(GREW, attack=False))
    among = of(engine(lucky, *crowd, NONE).answer(GREW, attack=False), "lucky")
    assert Verdict.INCONCLUSIVE == among.verdict
    q_values = [r.q_value for r in among.predictions]
    assert all(q is not None and q > 0.1 for q in q_values)


def test_missing_telemetry_is_an_experiment() -> None:
    """An untestable claim asks for the signal it lacks, by the way given to measure it."""
    blind = unseen(GREW, KV_CACHE_USAGE, KV_PRESSURE)
    finding = of(engine().answer(blind, attack=False), "kv_cache_preemption")
    assert Verdict.UNTESTABLE == finding.verdict
    assert KV_CACHE_USAGE.name in finding.missing
    assert finding.experiment is not None
    assert KV_CACHE_USAGE.name in finding.experiment.why
    assert how_to_measure()[KV_CACHE_USAGE.name] == finding.experiment.command


def test_every_untestable_claim_names_what_is_missing() -> None:
    """A claim that lacks a signal names it and proposes to measure it first of all."""
    answer = engine().answer(unseen(GREW, INPUT_TOKENS, KV_CACHE_USAGE, KV_PRESSURE, HOST_CPU), attack=False)
    untestable = [f for f in answer.findings if f.verdict is Verdict.UNTESTABLE]
    assert untestable
    assert [] == [f.hypothesis for f in untestable if not f.missing]
    assert all(f.experiment is not None and f.missing[0] in f.experiment.id for f in untestable)


def test_every_signal_that_a_claim_asks_for_says_how_to_measure_it() -> None:
    """Otherwise an untestable verdict could not say what to switch on."""
    asked = {signal.name for h in all_hypotheses() for p in h.predictions for signal in p.test.signals}
    assert [] == sorted(asked - how_to_measure().keys())


def test_a_refuted_cause_needs_no_experiment() -> None:
    """There is nothing to try where the data have already decided."""
    findings = engine().answer(GREW, attack=False).findings
    refuted = [f for f in findings if f.verdict is Verdict.REFUTED]
    assert len(refuted) > 5
    assert {None} == {f.experiment for f in refuted}
    assert {None} == {f.role for f in refuted}


def test_a_refuted_cause_is_less_probable_than_an_open_one() -> None:
    """Probability follows the verdict: supported, then not decided, then refuted."""
    answer = engine(
        claim("holds", *held_in_the_incident()),
        claim("open", necessary("n", says(Outcome.INCONCLUSIVE))),
        claim("blind", necessary("n", says(Outcome.UNTESTABLE, missing="x"))),
        claim("fails", necessary("n", says(Outcome.FAILED))),
        NONE,
    ).answer(GREW, attack=False)
    order = [f.hypothesis for f in answer.findings if f.hypothesis != NONE.id]
    assert ("holds", "fails") == (order[0], order[-1])


def test_the_scope_names_who_is_hit() -> None:
    """When only one version got slower, the finding says so."""
    hit = window(served(new_version=0.4), then=served(new_version=0.4, new_version_slower=4))
    scopes = [f.scope for f in engine(claim("x", *held_in_the_incident()), NONE).answer(hit, attack=False).findings]
    assert {"service.version": "1.5.0"} in scopes


def test_everybody_hit_is_no_scope() -> None:
    """When all are hit alike, no attribute is named."""
    assert {} == engine().answer(GREW, attack=False).findings[0].scope
