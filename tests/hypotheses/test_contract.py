"""What every hypothesis promises, asked of each one that discovery finds.

A claim without predictions is scored against the others and never tested; of it only the form is asked.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from correlator.model.evidence import BASELINE, INCIDENT, Coverage, Evidence
from correlator.model.findings import Verdict
from hypotheses._contract import Hypothesis
from hypotheses._judge import Judged, judge_all
from hypotheses._registry import all_hypotheses
from tests.hypotheses.evidence import Case, could_be_supported, judge, seen

ALL = {h.id: h for h in all_hypotheses()}
TESTED = {id: h for id, h in ALL.items() if h.predictions}
DEALS = 40
BY_CHANCE = 5 / DEALS
"""Of 40 tests that err in 5 % of cases, more than five err in one of seventy (binomial)."""
SAMPLING_LOOKS_LIKE_LONGER_ANSWERS = ("output_token_inflation", "telemetry_artifact")
"""Where only slow traces arrive, long answers are over-represented: test_engine.py asks the engine to see that."""
every = pytest.mark.parametrize("hypothesis", ALL.values(), ids=list(ALL))
every_tested = pytest.mark.parametrize("hypothesis", TESTED.values(), ids=list(TESTED))


@cache
def cases(id: str) -> dict[str, Case]:
    found: dict[str, Case] = import_module(f"tests.hypotheses.cases.{id}").CASES
    return found


def first(id: str, verdict: Verdict) -> Evidence:
    return next(case.evidence for case in cases(id).values() if case.verdict is verdict)


every_case = pytest.mark.parametrize(
    ("id", "title"), [(id, title) for id in TESTED for title in cases(id)], ids=lambda value: value
)


def numbers(judged: Judged) -> list[float]:
    """Every number of every prediction, and the share."""
    effects = [r.reading.effect for r in judged.results] + [judged.share]
    values = [x for e in effects if e is not None for x in (e.value, e.low, e.high)]
    return [*values, *(r.reading.p_value for r in judged.results if r.reading.p_value is not None)]


def test_discovery_finds_the_catalogue() -> None:
    """At least the seventeen claims of the first release are found."""
    assert len(ALL) >= 17


@every
def test_the_id_is_the_stem(hypothesis: Hypothesis) -> None:
    """The id of a hypothesis is the name of its file."""
    assert import_module(f"hypotheses.{hypothesis.id}").HYPOTHESIS is hypothesis


@every
def test_it_is_short_and_teaches(hypothesis: Hypothesis) -> None:
    """A file has at most 80 lines and starts with a question and at least two lines that teach."""
    source = inspect.getsource(import_module(f"hypotheses.{hypothesis.id}"))
    taught = import_module(f"hypotheses.{hypothesis.id}").__doc__ or ""
    assert len(source.splitlines()) <= 80
    assert len([line for line in taught.splitlines() if line.strip()]) >= (3 if hypothesis.predictions else 2)


@every
def test_the_claim_is_one_sentence(hypothesis: Hypothesis) -> None:
    """The claim is a single sentence on a single line."""
    assert hypothesis.claim.endswith(".")
    assert hypothesis.claim[0].isupper()
    assert 1 == hypothesis.claim.count(".")
    assert "\n" not in hypothesis.claim


@every
def test_it_names_only_claims_that_exist(hypothesis: Hypothesis) -> None:
    """Rivals and downstream claims exist, and none is the claim itself."""
    named = {*hypothesis.rivals, *hypothesis.upstream_of}
    assert set() == named - set(ALL)
    assert hypothesis.id not in named


@every
def test_it_explains_some_symptom(hypothesis: Hypothesis) -> None:
    """A claim says which kinds of symptom it can bring about."""
    assert hypothesis.explains


@every
def test_it_says_what_to_do_next(hypothesis: Hypothesis) -> None:
    """There is an experiment with a reason, a command and an expectation, and a remedy."""
    experiment = hypothesis.experiment
    assert experiment is not None
    assert all((experiment.id, experiment.why, experiment.command, experiment.expect, hypothesis.remedy))
    assert 1 <= experiment.cost <= 5
    assert 1 <= experiment.risk <= 5


@every_tested
def test_it_can_be_refuted_and_told_apart(hypothesis: Hypothesis) -> None:
    """There are necessary and separating predictions, each id is used once and each statement says something."""
    ids = [p.id for p in hypothesis.predictions]
    assert len(ids) == len(set(ids))
    assert {True, False} == {p.necessary for p in hypothesis.predictions}
    assert all(p.test.statement for p in hypothesis.predictions)


@every_tested
def test_it_has_rivals(hypothesis: Hypothesis) -> None:
    """A claim that is tested names what would explain the same."""
    assert hypothesis.rivals


@every_tested
def test_every_outcome_has_a_case(hypothesis: Hypothesis) -> None:
    """There are worlds that support, worlds that refute and worlds that cannot test it."""
    outcomes = {case.verdict for case in cases(hypothesis.id).values()}
    assert {Verdict.SUPPORTED, Verdict.REFUTED, Verdict.UNTESTABLE} <= outcomes


@every_case
def test_a_case_gives_its_verdict(id: str, title: str) -> None:
    """Each world gives the verdict it was made for, for the reason it was made for."""
    case = cases(id)[title]
    judged = judge(case.evidence, id)
    assert case.verdict == judged.verdict, judged.reason
    assert judged.reason.startswith(case.by), judged.reason
    if case.verdict is Verdict.UNTESTABLE:
        assert (case.missing if isinstance(case.missing, str) else case.missing.name) in judged.missing


@every_tested
def test_a_refutation_names_what_failed(hypothesis: Hypothesis) -> None:
    """Every case that refutes says by which prediction."""
    assert all(case.by for case in cases(hypothesis.id).values() if case.verdict is Verdict.REFUTED)


@every_tested
def test_nothing_is_supported_in_another_causes_world(hypothesis: Hypothesis) -> None:
    """In a world made by any other cause, its rivals first of all, it is not supported."""
    worlds = {other: first(other, Verdict.SUPPORTED) for other in TESTED if other != hypothesis.id}
    confused = [other for other, evidence in worlds.items() if supported(hypothesis, evidence)]
    assert [] == [other for other in confused if (hypothesis.id, other) != SAMPLING_LOOKS_LIKE_LONGER_ANSWERS]


@every_tested
def test_an_empty_window_knows_nothing(hypothesis: Hypothesis) -> None:
    """Without a row, an event or a fact it is untestable."""
    full = first(hypothesis.id, Verdict.SUPPORTED)
    empty = replace(
        full,
        requests=full.requests.iloc[:0],
        series=full.series.iloc[:0],
        events=(),
        facts=(),
        coverage=Coverage(),
    )
    assert Verdict.UNTESTABLE == judge(seen(empty), hypothesis.id).verdict


@every_tested
@pytest.mark.parametrize("period", ["baseline", "incident"])
def test_half_a_comparison_knows_nothing(hypothesis: Hypothesis, period: str) -> None:
    """With one of the two windows empty it is neither supported nor refuted."""
    full = first(hypothesis.id, Verdict.SUPPORTED)
    half = replace(
        full,
        requests=full.requests[full.requests["period"] == period],
        series=full.series[full.series["period"] == period],
        coverage=Coverage(),
    )
    assert judge(half, hypothesis.id).verdict not in (Verdict.SUPPORTED, Verdict.REFUTED)


@every_tested
def test_without_a_symptom_nothing_is_explained(hypothesis: Hypothesis) -> None:
    """Where nothing got worse it is not supported, whatever else moved."""
    evidence = replace(first(hypothesis.id, Verdict.SUPPORTED), symptom=None)
    assert Verdict.SUPPORTED != judge(evidence, hypothesis.id).verdict


@every_case
def test_the_order_of_rows_does_not_matter(id: str, title: str) -> None:
    """Shuffled frames give the same verdict and the same numbers."""
    evidence = cases(id)[title].evidence
    before, after = judge(evidence, id), judge(shuffled(evidence), id)
    assert before.verdict == after.verdict
    assert pytest.approx(numbers(before), rel=1e-6, abs=1e-9) == numbers(after)


def shuffled(evidence: Evidence) -> Evidence:
    return replace(
        evidence,
        requests=evidence.requests.sample(frac=1.0, random_state=1),
        series=evidence.series.sample(frac=1.0, random_state=2),
    )


@every_case
def test_copies_within_a_block_add_no_weight(id: str, title: str) -> None:
    """Ten copies of every row leave verdict and intervals, and the number of blocks, as they were."""
    evidence = cases(id)[title].evidence
    thick = replace(evidence, requests=tenfold(evidence.requests), series=tenfold(evidence.series))
    before, after = judge(evidence, id), judge(thick, id)
    assert before.verdict == after.verdict, after.reason
    assert [r.reading.blocks for r in before.results] == [r.reading.blocks for r in after.results]
    assert pytest.approx(numbers(before), rel=0.1, abs=0.02) == numbers(after)


def tenfold(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.loc[frame.index.repeat(10)].reset_index(drop=True)


@cache
def fooled(id: str) -> float:
    """Share of deals of the blocks to baseline and incident in which the hypothesis is supported."""
    evidence = first(id, Verdict.SUPPORTED)
    deals = [seen(redealt(evidence, seed)) for seed in range(DEALS)]
    return sum(supported(TESTED[id], deal) for deal in deals if deal.symptom) / DEALS


@every_tested
def test_periods_dealt_anew_support_nothing(hypothesis: Hypothesis) -> None:
    """Placebo: with blocks dealt anew to baseline and incident it is supported no more often than 5 % tests err."""
    assert fooled(hypothesis.id) <= BY_CHANCE


def test_periods_dealt_anew_support_hardly_any_claim() -> None:
    """Placebo: over all hypotheses at most 2 % of deals support the one that was dealt."""
    assert np.mean([fooled(id) for id in TESTED]) <= 0.02


@every_tested
def test_what_was_there_all_along_explains_no_change(hypothesis: Hypothesis) -> None:
    """Placebo: the incident's blocks against each other hardly ever support it, though a user insists on a symptom."""
    full = first(hypothesis.id, Verdict.SUPPORTED)
    incident = replace(full, requests=during(full.requests), series=during(full.series))
    kind = full.symptom.kind if full.symptom else None
    deals = [seen(redealt(incident, seed), kind) for seed in range(12)]
    assert sum(supported(hypothesis, deal) for deal in deals) <= 1


def during(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["period"] == INCIDENT]


def redealt(evidence: Evidence, seed: int) -> Evidence:
    """Half of the blocks, drawn by chance, are the baseline and the others the incident."""
    blocks = sorted(evidence.series["block"].unique())
    drawn = np.random.default_rng(seed).permutation(len(blocks)) % 2
    dealt = dict(zip(blocks, np.where(drawn == 0, BASELINE, INCIDENT), strict=True))
    frames = [f.assign(period=f["block"].map(dealt).astype(object)) for f in (evidence.requests, evidence.series)]
    return replace(evidence, requests=frames[0], series=frames[1])


def supported(hypothesis: Hypothesis, evidence: Evidence) -> bool:
    """Also with false discoveries controlled over all claims, which is asked last because it takes longest."""
    if not could_be_supported(hypothesis, evidence):
        return False
    together = judge_all(list(TESTED.values()), evidence)
    return any(j.hypothesis is hypothesis and j.verdict is Verdict.SUPPORTED for j in together)


@every_tested
@pytest.mark.parametrize("seed", range(5))
def test_a_cause_dealt_anew_explains_nothing(hypothesis: Hypothesis, seed: int) -> None:
    """Placebo: with the cause's values dealt anew among all rows it is not supported."""
    evidence = first(hypothesis.id, Verdict.SUPPORTED)
    rng = np.random.default_rng(seed)
    frames = [dealt(frame, hypothesis, rng) for frame in (evidence.requests, evidence.series)]
    assert not supported(hypothesis, replace(evidence, requests=frames[0], series=frames[1]))


def dealt(frame: pd.DataFrame, hypothesis: Hypothesis, rng: np.random.Generator) -> pd.DataFrame:
    """The cause's column permuted; a claim without one is about who was hit, so those attributes are."""
    by = hypothesis.cause.name if hypothesis.cause else "attribute."
    return frame.assign(**{c: rng.permutation(frame[c].to_numpy()) for c in frame.columns if c.startswith(by)})


@every_tested
@pytest.mark.parametrize("verdict", Verdict)
def test_a_missing_signal_never_helps(hypothesis: Hypothesis, verdict: Verdict) -> None:
    """Without any one signal that it asks for, nothing becomes supported and nothing is refuted by the absence."""
    signals = {s.name for p in hypothesis.predictions for s in p.test.signals}
    evidence = next((c.evidence for c in cases(hypothesis.id).values() if c.verdict is verdict), None)
    if evidence is None:
        return
    less = {s: judge(evidence.without(frozenset({s})), hypothesis.id).verdict for s in sorted(signals)}
    decided = {s: v for s, v in less.items() if v in (Verdict.SUPPORTED, Verdict.REFUTED) and v is not verdict}
    assert {} == decided


def test_chains_have_an_end() -> None:
    """No claim brings itself about, not even by way of others, so every chain has a root."""

    def below(id: str, path: tuple[str, ...] = ()) -> None:
        assert id not in path, " → ".join((*path, id))
        for following in ALL[id].upstream_of:
            below(following, (*path, id))

    for id in ALL:
        below(id)
