"""Other settings of the generator, so that what is learnt in one world is tried in another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks.lab.world import Phase, Scenario


def _both(scenario: Scenario, change: Callable[[Phase], Phase]) -> Scenario:
    return replace(scenario, baseline=change(scenario.baseline), incident=change(scenario.incident))


def recorded(scenario: Scenario) -> Scenario:
    """As the recordings are: one small engine, three requests a second."""
    return scenario


def faster(scenario: Scenario) -> Scenario:
    """Machine, store and traffic 1.6 times as fast, time-outs with them; lengths of prompts and answers vary more."""
    k = 1.6

    def change(phase: Phase) -> Phase:
        engine, client, load = phase.engine, phase.client, phase.load
        return phase.with_(
            engine={"base_s": engine.base_s / k, "seq_s": engine.seq_s / k, "token_s": engine.token_s / k},
            client={
                "retrieval_s": client.retrieval_s / k,
                "timeout_s": client.timeout_s / k if client.retries else client.timeout_s,
            },
            load={
                "rate": load.rate * k,
                "prompt_spread": 1.5 * load.prompt_spread,
                "output_spread": 1.5 * load.output_spread,
            },
        )

    return _both(scenario, change)


def quieter(scenario: Scenario) -> Scenario:
    """Two thirds of the traffic on a machine slower by as much: fewer requests to tell anything from."""
    k = 1.5

    def change(phase: Phase) -> Phase:
        client = phase.client
        return phase.with_(
            speed=phase.speed * k,
            load={"rate": phase.load.rate / k},
            client={"timeout_s": client.timeout_s * k if client.retries else client.timeout_s},
        )

    return _both(scenario, change)


WORLDS = {"recorded": recorded, "faster": faster, "quieter": quieter}
