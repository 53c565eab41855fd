"""Prefix and KV hit rate: prefixes that are computed again, and a rate that counts what was evicted and read again."""

from __future__ import annotations

from correlator.model.evidence import Kind
from correlator.model.moments import rfc3339
from tests.cases.inputs import counted, page, response, stats, usage
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import at

RUN = 120.0


def shares_nothing(running: int, waiting: int, kv: float, hits: float) -> Files:
    """The engine's line on data without a common prefix; tokens per second were not told and stay the same."""
    lines = [stats(t, 2000.0 + t % 30, running + t % 3, waiting + t % 5, kv, hits) for t in range(0, int(RUN), 10)]
    return {"vllm.log": "".join(lines)}


def aligned(share: float, running: int) -> Files:
    """Hits among the tokens looked up, with so many requests at once; 15 % stand for "above 0 but low"."""
    told = page(
        RUN,
        prefix_cache_queries_total=counted(4000, 4000),
        prefix_cache_hits_total=counted(4000 * share, 4000 * share),
        num_requests_running=lambda t: running,
    )
    return {"metrics.prom": told}


PINNED = ((11_266, 35_000, 14.4), (22_692, 69_000, 38.0), (40_618, 103_000, 62.5))
"""What is reused, how long the history is, and seconds a turn; the middle one lies between the two that were told."""


def turns(of: str) -> Files:
    """Turns of one agent: the frontier is appended to, or an early checkpoint is restored."""
    rows = []
    for i, start in enumerate(range(0, 600, 4)):
        pinned, context, seconds = PINNED[i % 3]
        reused = context - 40 if of == "append_frontier" else pinned
        lasted = 0.30 + 0.01 * (i % 5) if of == "append_frontier" else seconds + 0.1 * (i % 5)
        rows.append(response(i, start, context, 20, seconds=lasted, cached=reused))
    return {"usage.jsonl": usage(rows)}


def anthropic(created: int, read: int) -> Files:
    """Turns fourteen seconds apart, as the API counts them."""
    rows: list[dict[str, object]] = []
    for i in range(20):
        told = {"input_tokens": 40 + i % 3, "output_tokens": 120, "cache_creation_input_tokens": created}
        rows.append(
            {
                "timestamp": rfc3339(at(14.0 * i)),
                "model": "claude",
                "stop_reason": "end_turn",
                "usage": {**told, "cache_read_input_tokens": read},
            }
        )
    return {"usage.jsonl": usage(rows)}


CASES = (
    Report(
        id="C007",
        agree=3,
        cause="kv_cache_preemption",
        suspects=("prefix_cache_collapse",),
        before=lambda: shares_nothing(259, 535, 82.3, 32.2),
        files=lambda: shares_nothing(260, 475, 100.0, 0.2),
        asked=Kind.THROUGHPUT,
    ),
    Report(
        id="C008",
        agree=3,
        cause="prefix_cache_collapse",
        suspects=("input_token_inflation",),
        before=lambda: aligned(0.15, 8),
        files=lambda: aligned(0.0, 1),
        asked=Kind.LATENCY,
        fails="a share of hits without any latency is no symptom",
    ),
    Report(
        id="C010",
        agree=2,
        cause="prefix_cache_collapse",
        decisive=True,
        suspects=("input_token_inflation",),
        before=lambda: turns("append_frontier"),
        files=lambda: turns("restore_turn_checkpoint"),
    ),
    Report(
        id="C011",
        agree=3,
        cause="prefix_cache_collapse",
        suspects=("input_token_inflation",),
        before=lambda: anthropic(0, 2504),
        files=lambda: anthropic(2504, 0),
        asked=Kind.LATENCY,
        fails="a share of hits without any latency is no symptom",
    ),
)
