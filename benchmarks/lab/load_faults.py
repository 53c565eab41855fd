"""What can go wrong in what is asked of an engine, in its limits and at its start: see `faults.py`."""

from __future__ import annotations

from benchmarks.lab.world import CALM, Scenario, scenario

LONG_ANSWERS = CALM.with_(load={"rate": 2.4, "output": 190.0}, engine={"blocks": 512})


def input_token_inflation(severity: float) -> Scenario:
    """Prompts grow."""
    return scenario("input_token_inflation", CALM, CALM.with_(load={"prompt": min(350 * (1 + 2.7 * severity), 1500)}))


def output_token_inflation(severity: float) -> Scenario:
    """Answers run longer under a limit that was always there."""
    before = CALM.with_(load={"max_tokens": 400})
    return scenario("output_token_inflation", before, before.with_(load={"output": 19 * (1 + 3 * severity)}))


def context_overflow(severity: float) -> Scenario:
    """Long conversations, a fifth of all, grow beyond the limit."""
    before = CALM.with_(load={"long_share": 0.2})
    after = before.with_(load={"long_prompt": 1400 + 800 * severity})
    return scenario("context_overflow", before, after, symptom="errors")


def kv_cache_preemption(severity: float) -> Scenario:
    """A restart with far fewer KV blocks."""
    after = LONG_ANSWERS.with_(engine={"blocks": max(17, round(17 / severity))})
    return scenario("kv_cache_preemption", LONG_ANSWERS, after, restart=True)


def kv_demand_grown(severity: float) -> Scenario:
    """A small pool that was enough until more requests came: the traffic is the root, the pool how it works."""
    before = LONG_ANSWERS.with_(engine={"blocks": 25}, load={"rate": 1.0})
    after = before.with_(load={"rate": 1 + 2 * severity})
    return scenario("kv_demand_grown", before, after, truth="traffic_surge", also=("kv_cache_preemption",))


def prefix_caching_off(severity: float) -> Scenario:
    """A restart without prefix caching."""
    before = CALM.with_(load={"prompt": 130.0, "prefix": round(1225 * severity), "output": 12.0})
    flags = {"enable_prefix_caching": False}
    after = before.with_(engine={"prefix_caching": False, "flags": flags})
    return scenario("prefix_caching_off", before, after, truth="prefix_cache_collapse", restart=True)


def prefixes_unique(severity: float) -> Scenario:
    """Something unique gets in front of the shared prefix."""
    before = CALM.with_(load={"prompt": 130.0, "prefix": round(1225 * severity), "output": 12.0})
    after = before.with_(load={"unique_prefix": True})
    return scenario("prefixes_unique", before, after, truth="prefix_cache_collapse")


def scheduler_concurrency_cap(severity: float) -> Scenario:
    """A restart with a limit of two running requests."""
    before = CALM.with_(load={"rate": 2.0, "output": 110.0})
    after = before.with_(engine={"max_num_seqs": max(1, round(2 / severity)), "flags": {"max_num_seqs": 2}})
    return scenario("scheduler_concurrency_cap", before, after, restart=True)


def traffic_surge(severity: float) -> Scenario:
    """Three times as many requests."""
    before = CALM.with_(load={"output": 40.0})
    return scenario("traffic_surge", before, before.with_(load={"rate": 2.9 * (1 + 2 * severity)}))


def host_cpu_contention(severity: float) -> Scenario:
    """Other processes on the same cores."""
    return scenario("host_cpu_contention", CALM, CALM.with_(contention=severity), busy=0.45)


def model_change(severity: float) -> Scenario:
    """A restart with a model that costs twice as much per token."""
    after = CALM.with_(engine={"model": "./model-large", "slowdown": 1 + severity})
    return scenario("model_change", CALM, after, restart=True)


def cold_start(severity: float) -> Scenario:
    """A restart, slow for the first half minute."""
    return scenario("cold_start", CALM, CALM.with_(engine={"warm_up_factor": 5 * severity}), restart=True)


LOAD_FAULTS = (
    input_token_inflation, output_token_inflation, context_overflow, kv_cache_preemption, kv_demand_grown,
    prefix_caching_off, prefixes_unique, scheduler_concurrency_cap, traffic_surge, host_cpu_contention,
    model_change, cold_start,
)  # fmt: skip
