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
            engine={
                **{name: getattr(engine, name) / k for name in ("base_s", "seq_s", "token_s", "beyond_s", "host_s")},
                **{name: getattr(engine, name) / k for name in ("mask_s", "lora_load_s", "leak_bytes")},
            },
            client={
                "retrieval_s": client.retrieval_s / k,
                "timeout_s": client.timeout_s / k if client.retries else client.timeout_s,
                "idle_limit_s": client.idle_limit_s and client.idle_limit_s / k,
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
            engine={"lora_load_s": phase.engine.lora_load_s * k, "leak_bytes": phase.engine.leak_bytes * k},
            client={
                "timeout_s": client.timeout_s * k if client.retries else client.timeout_s,
                "idle_limit_s": client.idle_limit_s and client.idle_limit_s * k,
            },
        )

    return _both(scenario, change)


def longer(scenario: Scenario) -> Scenario:
    """Three minutes before and three of the incident at least, in which an onset can be wrong by one."""
    return replace(scenario, window_s=max(180.0, scenario.window_s))


WORLDS = {"recorded": recorded, "faster": faster, "quieter": quieter, "longer": longer}
