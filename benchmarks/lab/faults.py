"""What can go wrong: each fault is a function of its severity (1 is clear) that gives a scenario.

The names that begin with `healthy` are decoys: something happened, or nothing, and nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lab.engine_faults import ENGINE_FAULTS
from benchmarks.lab.world import Phase, Scenario

CALM = Phase()
LONG_ANSWERS = CALM.with_(load={"rate": 2.4, "output": 190.0}, engine={"blocks": 512})
Maker = Callable[[float], Scenario]


def _one(name: str, before: Phase, after: Phase, truth: str = "", **more: object) -> Scenario:
    return Scenario(name=name, truth=truth or name, baseline=before, incident=after, **more)  # type: ignore[arg-type]


def input_token_inflation(severity: float) -> Scenario:
    """Prompts grow."""
    return _one("input_token_inflation", CALM, CALM.with_(load={"prompt": min(350 * (1 + 2.7 * severity), 1500)}))


def output_token_inflation(severity: float) -> Scenario:
    """Answers run longer under a limit that was always there."""
    before = CALM.with_(load={"max_tokens": 400})
    return _one("output_token_inflation", before, before.with_(load={"output": 19 * (1 + 3 * severity)}))


def context_overflow(severity: float) -> Scenario:
    """Long conversations, a fifth of all, grow beyond the limit."""
    before = CALM.with_(load={"long_share": 0.2})
    after = before.with_(load={"long_prompt": 1400 + 800 * severity})
    return _one("context_overflow", before, after, symptom="errors")


def kv_cache_preemption(severity: float) -> Scenario:
    """A restart with far fewer KV blocks."""
    after = LONG_ANSWERS.with_(engine={"blocks": max(17, round(17 / severity))})
    return _one("kv_cache_preemption", LONG_ANSWERS, after, restart=True)


def kv_demand_grown(severity: float) -> Scenario:
    """A small pool that was enough until more requests came: the traffic is the root, the pool how it works."""
    before = LONG_ANSWERS.with_(engine={"blocks": 25}, load={"rate": 1.0})
    after = before.with_(load={"rate": 1 + 2 * severity})
    return _one("kv_demand_grown", before, after, truth="traffic_surge", also=("kv_cache_preemption",))


def prefix_caching_off(severity: float) -> Scenario:
    """A restart without prefix caching."""
    before = CALM.with_(load={"prompt": 130.0, "prefix": round(1225 * severity), "output": 12.0})
    flags = {"enable_prefix_caching": False}
    after = before.with_(engine={"prefix_caching": False, "flags": flags})
    return _one("prefix_caching_off", before, after, truth="prefix_cache_collapse", restart=True)


def prefixes_unique(severity: float) -> Scenario:
    """Something unique gets in front of the shared prefix."""
    before = CALM.with_(load={"prompt": 130.0, "prefix": round(1225 * severity), "output": 12.0})
    after = before.with_(load={"unique_prefix": True})
    return _one("prefixes_unique", before, after, truth="prefix_cache_collapse")


def scheduler_concurrency_cap(severity: float) -> Scenario:
    """A restart with a limit of two running requests."""
    before = CALM.with_(load={"rate": 2.0, "output": 110.0})
    after = before.with_(engine={"max_num_seqs": max(1, round(2 / severity)), "flags": {"max_num_seqs": 2}})
    return _one("scheduler_concurrency_cap", before, after, restart=True)


def traffic_surge(severity: float) -> Scenario:
    """Three times as many requests."""
    before = CALM.with_(load={"output": 40.0})
    return _one("traffic_surge", before, before.with_(load={"rate": 2.9 * (1 + 2 * severity)}))


def host_cpu_contention(severity: float) -> Scenario:
    """Other processes on the same cores."""
    return _one("host_cpu_contention", CALM, CALM.with_(contention=severity), busy=0.45)


def retrieval_slow(severity: float) -> Scenario:
    """The vector store answers slowly."""
    before = CALM.with_(client={"retrieval_s": 0.02})
    return _one("retrieval_slow", before, before.with_(client={"retrieval_s": 1.2 * severity}))


def rerank_slow(severity: float) -> Scenario:
    """The reranker takes longer; questions that were asked before skip it."""
    before = CALM.with_(client={"rerank_s": 0.03})
    return _one("rerank_slow", before, before.with_(client={"rerank_s": 0.03 * (1 + 7 * severity)}))


def vector_pool_exhaustion(severity: float) -> Scenario:
    """Connections to the store are given back late, until all of the pool are out."""
    before = CALM.with_(client={"store_pool": 8})
    return _one("vector_pool_exhaustion", before, before.with_(client={"store_held_s": 3.0 * severity}))


def dependency_slow(severity: float) -> Scenario:
    """The profile service that each request asks first takes longer."""
    before = CALM.with_(client={"profile_s": 0.02})
    return _one("dependency_slow", before, before.with_(client={"profile_s": 0.02 * (1 + 8 * severity)}))


def dependency_fails(severity: float) -> Scenario:
    """The profile service refuses a part of the calls."""
    before = CALM.with_(client={"profile_s": 0.02})
    after = before.with_(client={"profile_errors": min(0.2 * severity, 1.0)})
    return _one("dependency_fails", before, after, truth="dependency_slow", symptom="errors")


def output_truncation(severity: float) -> Scenario:
    """The limit on an answer is lowered to what half of the answers need."""
    before = CALM.with_(load={"max_tokens": 60})
    after = before.with_(load={"max_tokens": max(2, round(19 / severity))})
    return _one("output_truncation", before, after, symptom="quality")


def empty_retrieval(severity: float) -> Scenario:
    """The search finds nothing for most requests."""
    after = CALM.with_(client={"empty_share": min(0.6 * severity, 1.0)})
    return _one("empty_retrieval", CALM, after, symptom="quality")


def client_pool_exhaustion(severity: float) -> Scenario:
    """A pool of two connections where more are needed."""
    before = CALM.with_(load={"output": 90.0})
    return _one("client_pool_exhaustion", before, before.with_(client={"pool": max(1, round(2 / severity))}))


def retry_storm_spans(severity: float) -> Scenario:
    """The service sends again, a span a try, with a time-out near the service time."""
    after = CALM.with_(client={"timeout_s": 0.17 / severity, "retries": 4})
    return _one("retry_storm_spans", CALM, after, truth="retry_storm")


def retry_storm_hidden(severity: float) -> Scenario:
    """The SDK sends again inside one span, through a proxy that lets the engine go on with what nobody awaits."""
    before = CALM.with_(client={"hidden_retries": True})
    after = before.with_(client={"timeout_s": 0.17 / severity, "retries": 4})
    return _one("retry_storm_hidden", before, after, truth="retry_storm")


def model_change(severity: float) -> Scenario:
    """A restart with a model that costs twice as much per token."""
    after = CALM.with_(engine={"model": "./model-large", "slowdown": 1 + severity})
    return _one("model_change", CALM, after, restart=True)


def cold_start(severity: float) -> Scenario:
    """A restart, slow for the first half minute."""
    return _one("cold_start", CALM, CALM.with_(engine={"warm_up_factor": 5 * severity}), restart=True)


def healthy(severity: float) -> Scenario:
    """Nothing happens."""
    return _one("healthy", CALM, CALM, truth="none")


def healthy_restart(severity: float) -> Scenario:
    """A restart with the same flags."""
    return _one("healthy_restart", CALM, CALM, truth="none", restart=True)


def healthy_new_version(severity: float) -> Scenario:
    """A new version of the service, no better and no worse."""
    return _one("healthy_new_version", CALM, CALM.with_(client={"version": "1.1.0"}), truth="none")


def healthy_slower_machine(severity: float) -> Scenario:
    """A machine slower by a fifth, as neighbouring windows of the recordings are."""
    return _one("healthy_slower_machine", CALM, CALM.with_(speed=1 + 0.2 * severity), truth="none")


def healthy_faster(severity: float) -> Scenario:
    """The second window is the faster one."""
    return _one("healthy_faster", CALM, CALM.with_(speed=1 / (1 + 0.5 * severity)), truth="none")


FAULTS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        input_token_inflation, output_token_inflation, context_overflow, kv_cache_preemption, kv_demand_grown,
        prefix_caching_off, prefixes_unique, scheduler_concurrency_cap, traffic_surge, host_cpu_contention,
        retrieval_slow, rerank_slow, vector_pool_exhaustion, dependency_slow, dependency_fails, output_truncation,
        empty_retrieval, client_pool_exhaustion, retry_storm_spans, retry_storm_hidden, model_change,
        cold_start, *ENGINE_FAULTS, healthy, healthy_restart, healthy_new_version, healthy_slower_machine,
        healthy_faster,
    )
}  # fmt: skip
"""Every fault by its name."""
