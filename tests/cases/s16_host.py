"""The host's part: a container that is throttled, and grammars that keep the GPU waiting."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import call, calls, ready, smi, started, stats, vllm
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import at

RUN = 120.0
PARAMETERS = (
    "INFO Received request cmpl-{}: params: SamplingParams(n=1, max_tokens=60, structured_outputs={}), "
    "lora_request: None."
)


def throttled(tokens_per_s: float, share: float) -> Files:
    """A container of four CPUs whose threads were counted from the host's eight, or not; 4,567 periods in all."""
    snapshots = []
    for t in range(0, int(RUN) + 1, 10):
        periods = 4567 * t // int(RUN)
        snapshots.append(f"{at(t) // 10**9}\nnr_periods {periods}\nnr_throttled {round(share * periods)}\n")
    slow = calls(lambda i, t: call(i, t, per_token=1 / tokens_per_s, answer=20), RUN)
    return {"cpu.stat": "".join(snapshots), "calls.binpb": slow}


def enforced(schema: bool) -> Files:
    """Thirty at once: 10 to 20 tokens a second each on a GPU in use for 90 to 100 %, or 1 to 2 on one for 10 %."""
    told = {"gen_ai.output.type": "json" if schema else "text"}
    speed = (lambda i: 1 + i % 10 / 10) if schema else (lambda i: 10.0 + i % 10)
    slow = calls(lambda i, t: call(i, t, per_token=1 / speed(i), answer=40, told=told), RUN)
    busy = smi(RUN, utilization__gpu=lambda t: 10.0 if schema else 90 + t % 10)
    return {"calls.binpb": slow, "gpu.csv": busy}


def guided(schema: bool) -> Files:
    """The engine's own log of requests with a schema: from 2000 tokens a second to about 200, the GPU near 0."""
    log = [*started(-20), ready(-10)]
    for t in range(0, int(RUN), 2):
        bound = schema and t % 4 == 0
        log.append(
            vllm(t, PARAMETERS.format(t, "StructuredOutputsParams(json={'type': 'object'})" if bound else "None"))
        )
        if t % 10 == 8:
            log.append(stats(t, (200.0 if schema else 2000.0) + t % 7, 8, 3, 4.0))
    return {"vllm.log": "".join(log), "gpu.csv": smi(RUN, utilization__gpu=lambda t: 2.0 if schema else 95.0)}


CASES = (
    Report(
        id="C137",
        agree=2,
        cause="host_cpu_contention",
        decisive=True,
        suspects=("model_change", "sm_saturation"),
        before=lambda: throttled(12.07, 0.0),
        files=lambda: throttled(0.27, 3115 / 4567),
    ),
    Report(
        id="C140",
        agree=2,
        cause="structured_output_cost",
        decisive=True,
        suspects=("sm_saturation", "kv_cache_preemption"),
        before=lambda: enforced(schema=False),
        files=lambda: enforced(schema=True),
    ),
    Report(
        id="C142",
        agree=2,
        cause="structured_output_cost",
        decisive=True,
        suspects=("sm_saturation", "kv_cache_preemption"),
        before=lambda: guided(schema=False),
        files=lambda: guided(schema=True),
        asked=Kind.THROUGHPUT,
    ),
)
