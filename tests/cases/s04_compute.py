"""SM saturation, batch size, CUDA graphs, speculation."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import call, calls, page, ready, seen_by_client, smi, started, stats, vllm
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span

RUN = 120.0
ANSWER = 400
SPECULATION = (
    "INFO SpecDecoding metrics: Mean acceptance length: {:.2f}, Accepted throughput: 90.0 tokens/s, "
    "Avg Draft acceptance rate: {:.1f}%"
)


def clients(together: int, first: float) -> Files:
    """520 tokens a second from 4 clients on, however many they are, as the clients saw it; power by nvidia-smi."""
    each = first + ANSWER * together / 520

    def made(i: int, t: float) -> list[Span]:
        told = {"gen_ai.usage.output_tokens": ANSWER, "gen_ai.response.time_to_first_chunk": first}
        return seen_by_client(i, t, each, **told)

    power = smi(RUN, power__draw=lambda t: 246.8, power__limit=lambda t: 360.0, utilization__gpu=lambda t: 99.0)
    return {"calls.binpb": calls(made, RUN, each / together), "gpu.csv": power}


def sized(largest: int, sizes: str, batch: int, per_token: float, **more: object) -> Files:
    """An engine that captured graphs up to a size, and the batch that it runs.

    C022 says only that its peak batch is a cliff: a token takes twice as long there.
    """
    config = f"{{'cudagraph_capture_sizes': [{sizes}], 'max_cudagraph_capture_size': {largest}}}"
    log = [*started(-20, enforce_eager=False, compilation_config=config, **more), ready(-10)]
    return {
        "vllm.log": "".join(log),
        "calls.binpb": calls(lambda i, t: call(i, t, per_token=per_token), RUN),
        "metrics.prom": page(RUN, num_requests_running=lambda t: batch),
    }


def prefills(largest: int, tokens: float) -> Files:
    """The engine's line under a load of long prompts; its start-up says what it captured.

    The report does not name the older default: 8192 stands for it, and 1000 tokens a second for what it brought.
    """
    config = f"{{'max_cudagraph_capture_size': {largest}}}"
    log = [*started(-20, enforce_eager=False, compilation_config=config, max_num_batched_tokens=2048), ready(-10)]
    log += [stats(t, tokens + t % 20, 16, 2, 35.0, prompt=tokens * 4) for t in range(0, int(RUN), 10)]
    return {"vllm.log": "".join(log)}


def drafting(length: float, tokens: float) -> Files:
    """Accepted tokens a step and tokens a second, as the engine prints them."""
    log = [*started(-20, speculative_config="'draft'"), ready(-10)]
    for t in range(0, int(RUN), 10):
        told = length + 0.03 * (t % 30 - 10) / 10
        log.append(stats(t, tokens + t % 3, 1, 0, 4.0))
        log.append(vllm(t, SPECULATION.format(told, 25 * (told - 1))))
    return {"vllm.log": "".join(log)}


CASES = (
    Report(
        id="C019",
        agree=2,
        cause="sm_saturation",
        suspects=("scheduler_concurrency_cap",),
        before=lambda: clients(4, 0.03),
        files=lambda: clients(16, 11.8),
        fails="full SMs show only in the profiling counter, which nvidia-smi does not print",
    ),
    Report(
        id="C022",
        agree=3,
        cause="cuda_graphs_disabled",
        decisive=True,
        suspects=("batch_past_sweet_spot", "scheduler_concurrency_cap"),
        before=lambda: sized(696, "1, 2, 4, 8, 16, 688, 696", 690, 0.010),
        files=lambda: sized(696, "1, 2, 4, 8, 16, 688, 696", 700, 0.020),
    ),
    Report(
        id="C023",
        agree=2,
        cause="cuda_graphs_disabled",
        decisive=True,
        suspects=("batch_past_sweet_spot", "sm_saturation"),
        before=lambda: sized(8, "1, 2, 4, 8", 8, 0.010, max_num_seqs=12),
        files=lambda: sized(8, "1, 2, 4, 8", 12, 0.075, max_num_seqs=12),
    ),
    Report(
        id="C025",
        agree=3,
        cause="cuda_graphs_disabled",
        decisive=True,
        suspects=("batch_past_sweet_spot", "traffic_surge"),
        before=lambda: prefills(8192, 1000),
        files=lambda: prefills(2048, 710),
        asked=Kind.THROUGHPUT,
    ),
    Report(
        id="C029",
        agree=2,
        cause="speculative_acceptance_drop",
        decisive=True,
        suspects=("batch_past_sweet_spot", "cuda_graphs_disabled"),
        before=lambda: drafting(3.19, 120.5),
        files=lambda: drafting(2.66, 101.4),
        asked=Kind.THROUGHPUT,
    ),
)
