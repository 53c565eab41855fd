"""GPU and host memory: who holds it, what keeps growing, and what only happens beside it."""

from __future__ import annotations

from tests.cases.inputs import CHANGE, END, call, calls, failed, ready, smi, started, vllm
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span, gauge, metrics

SECONDS_A_STEP = 2.0
UP_AGAIN = CHANGE + 30


def refused_start(*raised: str) -> Files:
    """An engine that served, is started again and ends with an error; its clients are refused."""
    log = [*started(-20), ready(-10), vllm(CHANGE, "INFO Shutting down"), *started(CHANGE + 4)]
    log += [vllm(CHANGE + 20, f"ERROR {text}") for text in raised]
    log += [vllm(END - 2, "INFO waiting for the core")]
    refused = calls(lambda i, t: call(i, t) if t < CHANGE else failed(i, t, "Connection refused"))
    return {"vllm.log": "".join(log), "calls.binpb": refused}


FREE_ROSE = (
    "EngineCore failed to start.",
    "AssertionError: Error in memory profiling. Initial free memory 82.94 GiB, current free memory 90.17 GiB. This "
    "happens when other processes sharing the same container release GPU memory while vLLM is profiling.",
)
FREE_TOO_LOW = (
    "EngineCore failed to start.",
    "ValueError: Free memory on device cuda:0 (40.69/79.25 GiB) on startup is less than desired GPU memory "
    "utilization (0.92, 72.91 GiB).",
)


def climbing() -> Files:
    """Memory grows by 0.25 GB a step until it runs out, begins anew after the restart, and grows again."""

    def used(t: float) -> float:
        since = t + 20 if t < CHANGE else max(t - UP_AGAIN, 0)
        return 62_000 + 250 * since / SECONDS_A_STEP

    def served(i: int, t: float) -> list[Span]:
        return failed(i, t, "CUDA out of memory") if CHANGE <= t < UP_AGAIN else call(i, t)

    log = [*started(-20), ready(-10), *(vllm(t, "INFO step done") for t in range(0, int(CHANGE), 10))]
    log.append(vllm(CHANGE, "ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."))
    log += [*started(CHANGE + 5), ready(UP_AGAIN), *(vllm(t, "INFO step done") for t in range(150, int(END) + 1, 10))]
    memory = smi(memory__used=used, memory__total=lambda t: 80_000, utilization__gpu=lambda t: 90.0)
    return {"vllm.log": "".join(log), "calls.binpb": calls(served), "gpu.csv": memory}


def resident() -> Files:
    """Resident memory in a straight line all the time, and a step of latency beside it.

    The report does not say how high the step is: from 232 to 330 ms here.
    """
    rss = gauge("process_resident_memory_bytes", [(float(t), 8e9 + 4e6 * t) for t in range(0, int(END), 5)])
    step = calls(lambda i, t: call(i, t, first=0.2 if t < CHANGE else 0.3, per_token=0.0005, tokens=30, answer=2))
    return {"memory.binpb": metrics(rss).payload, "calls.binpb": step}


CASES = (
    Report(
        id="C031",
        agree=2,
        cause="gpu_cotenant",
        decisive=True,
        suspects=("gpu_memory_exhaustion",),
        files=lambda: refused_start(*FREE_ROSE),
    ),
    Report(
        id="C032",
        agree=3,
        cause="gpu_memory_exhaustion",
        decisive=True,
        suspects=("gpu_cotenant", "model_load_failure"),
        files=lambda: refused_start(*FREE_TOO_LOW),
    ),
    Report(
        id="C035",
        agree=3,
        cause="memory_growth",
        decisive=True,
        suspects=("gpu_cotenant",),
        files=climbing,
    ),
    Report(id="C037", agree=3, cause="", suspects=("memory_growth",), files=resident),
)
