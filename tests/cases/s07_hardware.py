"""Faults of the hardware that were filed as bugs of an engine."""

from __future__ import annotations

from tests.cases.inputs import CHANGE, END, app, call, calls, failed, kernel, ready, started, stats, vllm
from tests.cases.report import Files, Report

XIDS = (
    (48, "DBE (Double Bit Error) ECC Error, FBPA 9 subpartition 1"),
    (63, "Row Remapper: New row marked for remapping, reset gpu to activate."),
    (94, "Contained: CE User Channel (0x9). RST: No, D-RST: No"),
    (171, "Uncorrectable DRAM error, FBPA 9 subpartition 1"),
    (154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
)


def failing_memory() -> Files:
    """Xids of one GPU, and beside them an engine with speculation whose calls time out."""
    log = [*started(-20, speculative_config="'draft'", tensor_parallel_size=4), ready(-10)]
    log += [stats(t, 300.0 + t % 7, 4, 0, 30.0) for t in range(0, int(CHANGE), 10)]
    log += [vllm(CHANGE + 5, "ERROR TimeoutError: RPC call to sample_tokens timed out."), vllm(END - 1, "INFO exiting")]
    told = [(CHANGE - 1 + i, f"NVRM: Xid (PCI:0000:9c:00): {code}, {text}") for i, (code, text) in enumerate(XIDS)]
    timed_out = calls(
        lambda i, t: call(i, t) if t < CHANGE else failed(i, t, "RPC call to sample_tokens timed out", 60.0)
    )
    return {"vllm.log": "".join(log), "kern.log": kernel(told), "calls.binpb": timed_out}


def halting() -> Files:
    """Ollama's lines until a CUDA error, and the service manager that cannot stop it."""
    usual = (
        f'[GIN] 2026/11/30 - {_clock(t)} | 200 |  2.1{t % 10}s |       127.0.0.1 | POST     "/api/chat"\n'
        for t in range(0, int(CHANGE), 2)
    )
    failing = (
        f'[GIN] 2026/11/30 - {_clock(t)} | 500 | 30.0{t % 10}s |       127.0.0.1 | POST     "/api/chat"\n'
        for t in range(int(CHANGE) + 40, int(END), 2)
    )
    died = "CUDA error: unspecified launch failure\n  current device: 2, in function ggml_backend_cuda_synchronize at "
    text = "".join(usual) + died + "/go/src/ollama/llm/llama.cpp/ggml-cuda.cu:8792\n" + "".join(failing)
    stuck = app(CHANGE + 90, "WARNING systemd: ollama.service: State 'stop-sigterm' timed out. Killing.")
    return {"ollama.log": text, "systemd.log": stuck}


def _clock(seconds: float) -> str:
    return app(seconds, "")[11:19]


CASES = (
    Report(
        id="C047",
        agree=2,
        cause="gpu_hardware_fault",
        decisive=True,
        suspects=("speculative_acceptance_drop", "gpu_memory_exhaustion"),
        files=failing_memory,
    ),
    Report(
        id="C049",
        agree=2,
        cause="gpu_hardware_fault",
        suspects=("gpu_memory_exhaustion", "model_load_failure"),
        files=halting,
        fails="a CUDA error alone does not tell a broken link from a fault of the program",
    ),
)
