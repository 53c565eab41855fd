"""The engine at its door: what one file alone cannot know.

Mechanics are tested with claims made for the purpose, whose readings are given; the rest with simulated worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from correlator.join.symptom import find_symptom
from correlator.model.evidence import Evidence, Interval, Kind
from correlator.model.findings import Experiment, Finding, Outcome, Reading, Role, Verdict
from correlator.model.names import HOST_CPU, INPUT_TOKENS, KV_CACHE_USAGE, KV_PRESSURE, Signal
from hypotheses import Hypothesis, Prediction, Test, necessary, separating
from hypotheses._engine import Answer, Engine
from hypotheses._probability import Calibration
from hypotheses._registry import all_hypotheses
from tests.hypotheses.evidence import Served, could_be_supported, only_series, served, switched, unseen, window

NULL_WORLDS = 200
GREW = window(served(), then=served(input_tokens=1100))
HEALTHY = window(served())


@lru_cache(maxsize=1)
def settings_of_the_file() -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load(files("configs").joinpath("calibration.yaml").read_text("utf-8"))
    return loaded


def calibration(**changes: object) -> Calibration:
    return Calibration.model_validate({**settings_of_the_file(), **changes})


def engine(*hypotheses: Hypothesis) -> Engine:
    how = {KV_CACHE_USAGE.name: "curl http://localhost:8000/metrics"}
    return Engine(hypotheses or all_hypotheses(), calibration(), find_symptom, how)


def of(answer: Answer, id: str) -> Finding:
    return next(f for f in answer.findings if f.hypothesis == id)


def supported(answer: Answer) -> list[str]:
    return [f.hypothesis for f in answer.findings if f.verdict is Verdict.SUPPORTED]


NONE = next(h for h in all_hypotheses() if not h.predictions)


def says(outcome: Outcome, p: float | None = None, share: float | None = None, missing: str = "") -> Test:
    """A test with a reading that is known beforehand, but only where there are the real windows."""
    effect = None if share is None else Interval(share, share - 0.05, share + 0.05, "1")
    reading = Reading(outcome, "given", effect, p, 8, missing=(missing,) if missing else ())
    return Test("given", lambda _: reading, measures_share=share is not None)


def claim(
    id: str, *predictions: Prediction, upstream_of: tuple[str, ...] = (), cause: Signal | None = None
) -> Hypothesis:
    return Hypothesis(
        id=id,
        claim=f"It was {id}.",
        explains=frozenset({Kind.LATENCY}),
        predictions=predictions,
        upstream_of=upstream_of,
        cause=cause,
        experiment=Experiment("look", "to see", "true", "something"),
        remedy="Undo it.",
    )


def held_in_the_incident(share: float | None = None) -> tuple[Prediction, Prediction]:
    """Predictions that hold on the real windows and fail on the placebo's."""

    def read(evidence: Evidence) -> Reading:
        real = evidence.windows == GREW.windows
        effect = None if share is None else Interval(share, share - 0.05, share + 0.05, "1")
        return Reading(Outcome.HELD if real else Outcome.FAILED, "given", effect, None, 8)

    return necessary("n", Test("given", read, measures_share=share is not None)), separating("s", Test("given", read))


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
    [served(lost=0.5), served(warm_up=0.3), served(cpu=0.97), served(waiting=2)],
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


def test_a_chain_names_its_root_and_its_mechanism() -> None:
    """Prompts grew, so the KV pool is full: both are supported, one is the root and the other the way it works."""
    chain = window(served(), then=served(input_tokens=1100, kv_full=0.6, stall=0.8, preemptions=0.4))
    answer = engine().answer(chain, attack=False)
    root, mechanism = of(answer, "input_token_inflation"), of(answer, "kv_cache_preemption")
    assert Verdict.SUPPORTED == root.verdict == mechanism.verdict
    assert (Role.ROOT, Role.MECHANISM) == (root.role, mechanism.role)
    assert ("kv_cache_preemption",) == root.via
    assert root is answer.findings[0]


def test_a_full_pool_without_longer_prompts_is_its_own_root() -> None:
    """The same mechanism is the root where what could have brought it about did not happen."""
    shrank = window(served(), then=served(kv_capacity=8_000, kv_full=0.6, stall=0.8, preemptions=0.4))
    assert Role.ROOT == of(engine().answer(shrank, attack=False), "kv_cache_preemption").role


def test_a_chain_may_have_a_link_that_is_not_supported() -> None:
    """Only supported claims link a chain: across a missing link there are two roots."""
    up = claim("up", *held_in_the_incident(), upstream_of=("middle",))
    middle = claim("middle", necessary("n", says(Outcome.FAILED)), upstream_of=("down",))
    answer = engine(up, middle, claim("down", *held_in_the_incident()), NONE).answer(GREW, attack=False)
    assert {Role.ROOT} == {of(answer, id).role for id in ("up", "down")}
    assert of(answer, "middle").role is None


def test_a_chain_of_three_has_one_root() -> None:
    """Across a supported link the last is a mechanism of the first."""
    up = claim("up", *held_in_the_incident(), upstream_of=("middle",))
    middle = claim("middle", *held_in_the_incident(), upstream_of=("down",))
    answer = engine(up, middle, claim("down", *held_in_the_incident()), NONE).answer(GREW, attack=False)
    assert [Role.ROOT, Role.MECHANISM, Role.MECHANISM] == [of(answer, id).role for id in ("up", "middle", "down")]
    assert {"middle", "down"} == set(of(answer, "up").via)


def test_what_explains_far_less_is_a_bystander() -> None:
    """Of two supported claims the one dwarfed by the other moved along, and is less probable."""
    large, small = claim("large", *held_in_the_incident(0.9)), claim("small", *held_in_the_incident(0.25))
    answer = engine(large, small, NONE).answer(GREW, attack=False)
    assert (Role.ROOT, Role.BYSTANDER) == (of(answer, "large").role, of(answer, "small").role)
    assert of(answer, "large").probability > 2 * of(answer, "small").probability


def test_a_claim_that_a_placebo_supports_is_doubted() -> None:
    """What is also supported between the baseline's two halves is inconclusive, and says why."""
    gullible = claim("gullible", necessary("n", says(Outcome.HELD)), separating("s", says(Outcome.HELD)))
    answer = engine(gullible, claim("sound", *held_in_the_incident()), NONE).answer(GREW, attack=False)
    assert (Verdict.INCONCLUSIVE, Verdict.SUPPORTED) == (of(answer, "gullible").verdict, of(answer, "sound").verdict)
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


def null_worlds() -> Iterator[Evidence]:
    """Healthy windows in which load, prompts and speed drift as they do between any two; a user sees a symptom."""
    for seed in range(NULL_WORLDS):
        rng = np.random.default_rng(seed)
        speed, tokens, load = rng.lognormal(0, [0.1, 0.08, 0.15])
        then = served(
            input_tokens=300 * tokens,
            per_block=12 * load,
            time_per_output_token=0.005 * speed,
            prefill_per_token=0.0003 * speed,
            network=0.01 * speed,
            retrieval=0.04 * speed,
            queue=0.01 * speed * load,
        )
        facts = switched("engine.model", "a", "b") if seed % 2 else ()
        yield window(served(), then=then, blocks=8, seed=seed, facts=facts, kind=Kind.LATENCY)


def test_null_worlds_have_no_cause() -> None:
    """In at most 2 % of two hundred worlds in which nothing happened is any cause supported."""
    suspicious = [w for w in null_worlds() if any(could_be_supported(h, w) for h in all_hypotheses())]
    accused = [supported(engine().answer(world, attack=False)) for world in suspicious]
    assert len([ids for ids in accused if ids]) <= 0.02 * NULL_WORLDS, accused


def test_the_answer_is_attacked() -> None:
    """Onset moved either way, traces or metrics gone, blocks drawn anew: runs are counted, and what moved is named."""
    stability = engine().answer(GREW).stability
    assert stability.runs >= 8
    assert stability.runs == stability.top_kept + len(stability.changed_by)
    assert stability.top_kept >= stability.runs // 2
    assert 0 < stability.onset_shift_s <= 60


def test_a_cause_that_only_traces_show_is_moved_by_their_absence() -> None:
    """The attack says which piece of evidence the first finding rests on."""
    moved = engine().answer(GREW).stability.changed_by
    assert any(name.startswith("without traces") for name in moved)


def test_metrics_alone_are_enough_for_an_attack() -> None:
    """Evidence without a single trace is answered and attacked as well."""
    answer = engine().answer(only_series(GREW))
    assert pytest.approx(1.0) == sum(f.probability for f in answer.findings)
    assert answer.stability.runs >= 6


def test_missing_telemetry_is_an_experiment() -> None:
    """An untestable claim asks for the signal it lacks, by the way given to measure it."""
    blind = unseen(GREW, KV_CACHE_USAGE, KV_PRESSURE)
    finding = of(engine().answer(blind, attack=False), "kv_cache_preemption")
    assert Verdict.UNTESTABLE == finding.verdict
    assert KV_CACHE_USAGE.name in finding.missing
    assert finding.experiment is not None
    assert KV_CACHE_USAGE.name in finding.experiment.why
    assert "curl http://localhost:8000/metrics" == finding.experiment.command


def test_every_untestable_claim_names_what_is_missing() -> None:
    """A claim that lacks a signal names it and proposes to measure it first of all."""
    answer = engine().answer(unseen(GREW, INPUT_TOKENS, KV_CACHE_USAGE, KV_PRESSURE, HOST_CPU), attack=False)
    untestable = [f for f in answer.findings if f.verdict is Verdict.UNTESTABLE]
    assert untestable
    assert [] == [f.hypothesis for f in untestable if not f.missing]
    assert all(f.experiment is not None and f.missing[0] in f.experiment.id for f in untestable)


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


def test_the_calibration_file_is_valid() -> None:
    """The file that ships is read, and says where its numbers come from."""
    assert calibration().source
    assert set(Verdict) == set(calibration().verdict_weight)


def test_the_calibration_file_names_only_what_exists() -> None:
    """Priors and overrides of the file belong to hypotheses and predictions that exist."""
    found = calibration()
    ids = {h.id for h in all_hypotheses()}
    predictions = {f"{h.id}.{p.id}" for h in all_hypotheses() for p in h.predictions}
    assert set() == set(found.priors) - ids
    assert set() == set(found.predictions) - predictions


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"necesary": {}}, "necesary"),
        ({"necessary": {"held": 0, "inconclusive": 1, "untestable": 1, "failed": 1}}, "necessary.held"),
        ({"separating": {"held": 1, "inconclusive": -1, "untestable": 1, "failed": 1}}, "separating.inconclusive"),
        ({"necessary": {"held": 1, "inconclusive": 1, "untestable": 1}}, "necessary.failed"),
        ({"share_floor": 0}, "share_floor"),
        ({"mechanism_weight": 1.5}, "mechanism_weight"),
        ({"priors": {"none_of_these": 0}}, "priors.none_of_these"),
        ({"verdict_weight": {"supported": 0}}, "verdict_weight.supported"),
        ({"verdict_weight": {"corroborated": 1}}, "verdict_weight.corroborated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_calibration_is_refused(changes: dict[str, object], field: str) -> None:
    """Unknown keys and weights that are not positive are refused by the name of their field."""
    with pytest.raises(ValidationError) as error:
        calibration(**changes)
    assert field in [".".join(str(part) for part in e["loc"] if part != "[key]") for e in error.value.errors()]
