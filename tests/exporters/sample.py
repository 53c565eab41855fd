"""Diagnoses to print: an incident with every kind of finding in it, and one where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

from correlator.model import names
from correlator.model.evidence import Coverage, Interval, Kind, Symptom, Window, Windows
from correlator.model.findings import (
    Bar,
    Diagnosis,
    Experiment,
    Finding,
    Illustration,
    LedgerLine,
    Outcome,
    Placebo,
    PredictionResult,
    Reading,
    Role,
    Stability,
    Verdict,
    Waterfall,
)

T0 = 1_796_009_716_000_000_000
"""2026-11-30T03:35:16Z, the start of the baseline."""
S = 1_000_000_000

WINDOWS = Windows(Window(T0, T0 + 74 * S), Window(T0 + 74 * S, T0 + 148 * S))


def prediction(
    name: str,
    statement: str,
    outcome: Outcome,
    reason: str,
    effect: Interval | None = None,
    *,
    necessary: bool = True,
    blocks: int = 14,
    missing: tuple[str, ...] = (),
    trace_ids: tuple[str, ...] = (),
) -> PredictionResult:
    """One tested prediction; q-values only where something was tested."""
    tested = outcome in (Outcome.HELD, Outcome.FAILED, Outcome.INCONCLUSIVE)
    reading = Reading(
        outcome=outcome,
        reason=reason,
        effect=effect,
        p_value=0.002 if tested else None,
        blocks=blocks if tested else 0,
        trace_ids=trace_ids,
        missing=missing,
    )
    return PredictionResult(name, statement, necessary, reading, q_value=0.008 if tested else None)


def root() -> Finding:
    """The true cause, supported."""
    traces = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7a3ce929d0e0e4736")
    return Finding(
        hypothesis="input_token_inflation",
        claim="Prompts grew, and the longer prompts take longer to compute.",
        verdict=Verdict.SUPPORTED,
        probability=0.83,
        role=Role.ROOT,
        share=Interval(0.78, 0.61, 0.94, "1"),
        scope={"service.name": "rag-gateway", "tenant": "acme"},
        via=("kv_cache_preemption",),
        predictions=(
            prediction(
                "tokens_grew",
                "Input tokens per request went up by at least a tenth.",
                Outcome.HELD,
                "Input tokens rose from 412 to 1,508 per request.",
                Interval(3.66, 3.31, 4.02),
                trace_ids=traces,
            ),
            prediction(
                "latency_follows",
                "Latency rises with the input tokens of the request.",
                Outcome.HELD,
                "Requests with four times the tokens took 2.1 times as long.",
                Interval(2.10, 1.62, 2.71),
                trace_ids=traces[:1],
            ),
            prediction(
                "short_prompts_spared",
                "Requests with prompts of the old size are as fast as before.",
                Outcome.INCONCLUSIVE,
                "Only 3 blocks hold such requests; ×1.09 could be noise.",
                Interval(1.09, 0.81, 1.46),
                necessary=False,
                blocks=3,
            ),
        ),
        experiment=Experiment(
            id="trim_prompt",
            why="Separates the length of the prompt from everything that happened at the same time.",
            command="tollens probe replay --trace 4bf92f3577b34da6a3ce929d0e0e4736 --trim-input 400",
            expect="If prompts are the cause, the trimmed request takes about 0.17 s, the whole one 0.36 s.",
            cost=1,
        ),
        remedy="Cap the retrieved context at 6 documents, or shorten the system prompt.",
        reason="Input tokens rose ×3.66 and prefill took 78 % of the added time.",
    )


def mechanism() -> Finding:
    """What the root brought about."""
    return Finding(
        hypothesis="kv_cache_preemption",
        claim="The KV pool is full: requests wait for blocks or are evicted.",
        verdict=Verdict.SUPPORTED,
        probability=0.06,
        role=Role.MECHANISM,
        share=Interval(0.19, 0.08, 0.31, "1"),
        predictions=(
            prediction(
                "pool_full",
                "KV usage comes near 1 in the incident.",
                Outcome.HELD,
                "KV usage reached 98 % in 9 of 14 blocks, before in none.",
                Interval(0.42, 0.36, 0.49, "1"),
            ),
        ),
        remedy="Raise the KV space or lower max_num_seqs.",
        reason="KV usage reached 98 %, and only requests with long prompts waited.",
    )


def undecided() -> Finding:
    """Tested, and the interval straddles the line."""
    return Finding(
        hypothesis="traffic_surge",
        claim="More requests arrived than the engine can serve.",
        verdict=Verdict.INCONCLUSIVE,
        probability=0.03,
        predictions=(
            prediction(
                "rate_grew",
                "Requests arrived at a rate at least a fifth higher.",
                Outcome.INCONCLUSIVE,
                "Arrivals rose from 2.7 to 3.0 per second, which may be noise.",
                Interval(1.11, 0.94, 1.29),
            ),
        ),
        reason="The arrival rate rose ×1.11, less than can be told from noise in 14 blocks.",
    )


def refuted(name: str, statement: str, reason: str, effect: Interval | None) -> Finding:
    """Killed by one necessary prediction; another failed that need not hold."""
    return Finding(
        hypothesis=name,
        claim=f"Is it {name.replace('_', ' ')}?",
        verdict=Verdict.REFUTED,
        probability=0.001,
        predictions=(
            prediction("aside", "A sign that is not necessary.", Outcome.FAILED, "It was not seen.", necessary=False),
            prediction("killer", statement, Outcome.FAILED, reason, effect),
        ),
    )


def untestable(name: str, missing: tuple[str, ...], experiment: Experiment | None = None) -> Finding:
    """Nothing to test it with."""
    return Finding(
        hypothesis=name,
        claim=f"Is it {name.replace('_', ' ')}?",
        verdict=Verdict.UNTESTABLE,
        probability=0.01,
        missing=missing,
        experiment=experiment,
    )


REFUTED = (
    refuted(
        "output_token_inflation",
        "Output tokens per request went up by at least a tenth.",
        "Output tokens stayed at 20 per request.",
        Interval(1.0, 0.99, 1.01),
    ),
    refuted(
        "retrieval_slow",
        "The retrieval part of the ledger grew.",
        "Retrieval took 12 ms before and 11 ms during.",
        Interval(0.94, 0.82, 1.06),
    ),
    refuted(
        "retry_storm",
        "More attempts are made for one logical request.",
        "Each of the 423 requests was sent once.",
        None,
    ),
    refuted(
        "prefix_cache_collapse",
        "A smaller share of prompt tokens comes from the cache.",
        "The cached share went from 31 % to 36 %.",
        Interval(0.05, 0.01, 0.09, "1"),
    ),
)
UNTESTABLE = (
    untestable(
        "host_cpu_contention",
        ("host_cpu_utilization", "cpu_throttled_share"),
        Experiment("add_host_metrics", "No host metrics came in.", "tollens up", "CPU use."),
    ),
    untestable("client_pool_exhaustion", ("pool_used", "pool_max")),
)


def waterfall(trace_id: str, period: str, prefill_s: float) -> Waterfall:
    """A trace of the gateway, a retrieval and a model call."""
    total = 0.06 + prefill_s
    return Waterfall(
        trace_id,
        period,
        f"A typical request of the {period}: {total * 1000:.0f} ms",
        (
            Bar("POST /ask", "rag-gateway", "gateway", 0, 0.0, total),
            Bar("retrieve", "vector-db", "retrieval", 1, 0.002, 0.012),
            Bar("chat model", "rag-gateway", "network", 1, 0.016, total - 0.02),
            Bar("llm_request", "vllm", "queue", 2, 0.019, 0.004),
            Bar("prefill", "vllm", "prefill", 2, 0.023, prefill_s),
            Bar("decode", "vllm", "decode", 2, 0.023 + prefill_s, 0.03),
        ),
    )


def timeline() -> tuple[tuple[int, float], ...]:
    """Two-second means: about 0.17 s, then about 0.36 s, with a steady wobble."""
    wobble = [1 + 0.18 * ((i * 7 % 11) / 11 - 0.5) for i in range(74)]
    return tuple((T0 + 2 * i * S, (0.17 if i < 37 else 0.36) * w) for i, w in enumerate(wobble))


def incident() -> Diagnosis:
    """Prompts grew: root, mechanism, one undecided, four refuted, two untestable."""
    return Diagnosis(
        symptom=Symptom(
            kind=Kind.LATENCY,
            where="rag-gateway",
            signal=names.LATENCY,
            statistic="mean",
            onset=T0 + 74 * S,
            baseline_value=0.1699,
            incident_value=0.3619,
            change=Interval(2.13, 1.84, 2.47),
        ),
        windows=WINDOWS,
        ledger=(
            LedgerLine("gateway", 0.004, 0.004, 0.0),
            LedgerLine("retrieval", 0.012, 0.011, -0.005),
            LedgerLine("queue", 0.004, 0.032, 0.146),
            LedgerLine("prefill", 0.064, 0.214, 0.781),
            LedgerLine("decode", 0.079, 0.091, 0.063),
            LedgerLine("remainder", 0.0069, 0.0099, 0.015),
        ),
        findings=(root(), mechanism(), undecided(), *UNTESTABLE, *REFUTED),
        none_of_these=0.05,
        stability=Stability(
            20, 18, 60.0, ("input_tokens was dropped",), {"input_token_inflation": 0.9}, Placebo.PASSED
        ),
        coverage=Coverage(
            records={"spans": 4021, "points": 31877, "logs": 212},
            signals={
                "request_latency": {"sources": ["traces"], "interval_s": None, "rows": 423},
                "kv_cache_usage": {"sources": ["scrape", "engine_log"], "interval_s": 2.0, "rows": 74},
            },
            watched=frozenset({"traces", "engine_metrics", "engine_log"}),
            problems={"malformed": 3, "orphan": 11},
            messages=("traces.jsonl:17: resourceSpans: expected a list (×3)",),
            orphan_share=0.003,
            sampled_traces=None,
            clock_skew_s=0.004,
        ),
        version="0.1.0",
        elapsed_s=1.84,
        illustration=Illustration(
            timeline(),
            "s",
            (
                waterfall("4bf92f3577b34da6a3ce929d0e0e4736", "baseline", 0.064),
                waterfall("00f067aa0ba902b7a3ce929d0e0e4736", "incident", 0.302),
            ),
        ),
        next_experiment=root().experiment,
    )


def healthy() -> Diagnosis:
    """The same service with nothing beyond noise; all claims refuted or untestable."""
    found = incident()
    none = Finding(
        hypothesis="none_of_these",
        claim="Something that is not on the list, or nothing at all.",
        verdict=Verdict.INCONCLUSIVE,
        probability=0.97,
        reason="No change beyond the baseline's own variation was seen.",
    )
    return replace(
        found,
        symptom=None,
        findings=(none, *UNTESTABLE, *REFUTED),
        none_of_these=0.97,
        ledger=tuple(replace(line, incident_s=line.baseline_s, share=None) for line in found.ledger),
        coverage=replace(found.coverage, problems={}, messages=()),
        illustration=replace(found.illustration, waterfalls=()),
        next_experiment=None,
    )


def empty() -> Diagnosis:
    """Nothing came in at all."""
    return Diagnosis(None, None, (), (), 1.0, Stability(), Coverage(), "0.1.0")
