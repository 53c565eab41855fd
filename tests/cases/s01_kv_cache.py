"""KV cache and preemption: a pool that is full, and a request that no pool of this size can ever hold."""

from __future__ import annotations

import json

from correlator.model.evidence import Kind
from tests.cases.inputs import CHANGE, END, call, calls, failed, page, ready, started, stats, vllm
from tests.cases.report import Files, Report

RUN = 120.0


def saturated(preemptions: int, tokens_per_s: float, itl_p99_ms: float, ttft_ms: float) -> Files:
    """A run at 128 concurrent requests; pool of 299,584 tokens and its being full are the report's own setting."""
    bench = {
        "num_prompts": 600, "completed": 600, "max_concurrency": 128, "duration": RUN,
        "output_throughput": tokens_per_s, "median_ttft_ms": ttft_ms, "p99_itl_ms": itl_p99_ms,
        "mean_ttft_ms": ttft_ms, "date": "20261130-005320",
    }  # fmt: skip
    told = page(
        RUN,
        num_preemptions_total=lambda t: preemptions * t / RUN,
        generation_tokens_total=lambda t: tokens_per_s * t,
        num_requests_running=lambda t: 120 + t % 9,
        num_requests_waiting=lambda t: 128 - (120 + t % 9),
        kv_cache_usage_perc=lambda t: 0.99,
    )
    return {"bench.json": json.dumps(bench), "metrics.prom": told}


V0 = (
    "INFO Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: {} reqs, "
    "Swapped: {} reqs, Pending: {} reqs, GPU KV cache usage: {}%, CPU KV cache usage: {}%."
)
EVICTED = (
    "WARNING Sequence group 151 is preempted by PreemptionMode.SWAP mode because there is not enough KV cache "
    "space. total_num_cumulative_preemption={}"
)


def swapping() -> Files:
    """The report's three states in turn, its 151 preemptions, and its rate: ETA of 42 min or of 3.6 h.

    Before, as healthy context, the same batch with one sequence a request, for which nothing is swapped.
    """
    states = [(34, 100, 9832, 99.2, 70.4), (37, 137, 9800, 90.1, 77.9), (36, 125, 9779, 76.6, 75.0)]
    lines = []
    for i, t in enumerate(range(0, int(CHANGE), 5)):
        lines.append(vllm(t, V0.format(1000 + 10 * (i % 3), 36, 0, 9990 - i, 62.0 + i % 5, 0.0)))
    for i, t in enumerate(range(int(CHANGE), int(END), 5)):
        lines.append(vllm(t, V0.format(1000 * 42 / 216 + 5 * (i % 3), *states[i % 3])))
        lines.append(vllm(t + 1, EVICTED.format(1 + 150 * (i + 1) // 24)))
    return {"vllm.log": "".join(lines)}


def never_scheduled() -> Files:
    """A pool smaller than max_model_len; one request of a size between them waits, and all others behind it.

    Its clients give up after half a minute, as clients do.
    """
    lines = [*started(-20, pool=20_000, max_seq_len=32_768), ready(-10)]
    lines += [stats(t, 180.0 + t % 7, 1, 0, 12.5) for t in range(0, int(CHANGE), 10)]
    lines += [stats(t, 0.0, 0, 1 + int(t - CHANGE) // 4, 0.4) for t in range(int(CHANGE), int(END), 10)]
    given_up = calls(lambda i, t: call(i, t) if t < CHANGE else failed(i, t, "client timed out", 30.0))
    return {"vllm.log": "".join(lines), "calls.binpb": given_up}


CASES = (
    Report(
        id="C001",
        agree=3,
        cause="kv_cache_preemption",
        decisive=True,
        suspects=("sm_saturation", "batch_past_sweet_spot"),
        before=lambda: saturated(187, 12_167, 17.70, 11_200),
        files=lambda: saturated(1065, 11_582, 40.62, 6_560),
        asked=Kind.THROUGHPUT,
    ),
    Report(
        id="C002",
        agree=2,
        cause="kv_cache_preemption",
        decisive=True,
        suspects=("scheduler_concurrency_cap", "traffic_surge"),
        files=swapping,
        asked=Kind.THROUGHPUT,
    ),
    Report(
        id="C005",
        agree=3,
        cause="request_larger_than_kv_pool",
        decisive=True,
        suspects=("kv_cache_preemption", "scheduler_concurrency_cap"),
        files=never_scheduled,
    ),
)
