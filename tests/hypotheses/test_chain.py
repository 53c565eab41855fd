"""Chains of causes: which supported claim is the root, which its mechanism, which merely moved along."""

from __future__ import annotations

from correlator.model.findings import Outcome, Role, Verdict
from hypotheses import necessary
from tests.hypotheses.claims import GREW, NONE, claim, engine, held_in_the_incident, of, says
from tests.hypotheses.evidence import served, window


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
