"""Models that do not load, or load slowly."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import call, calls, failed, ready, started, vllm
from tests.cases.report import Files, Report
from tests.cases.s05_memory import refused_start

DIED = "EngineCore failed to start."
CORRUPT = "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
ERROR_802 = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
ERROR_803 = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / "
    "cuda driver combination"
)
ERROR_804 = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non "
    "supported HW"
)


def loading(seconds: float, run: float = 600.0) -> Files:
    """A start whose weights take so long; until it is ready calls are refused."""
    log = [*started(0), vllm(5 + seconds, f"INFO Loading weights took {seconds:.2f} seconds"), ready(25 + seconds)]
    log.append(vllm(run - 1, "INFO still here"))
    up = calls(lambda i, t: call(i, t) if t > 25 + seconds else failed(i, t, "Connection refused"), run, 2.0)
    return {"vllm.log": "".join(log), "calls.binpb": up}


def _restarted() -> list[str]:
    return [*started(-20), ready(-10), vllm(590, "INFO Shutting down"), *started(596, tensor_parallel_size=4)]


def two_hours() -> Files:
    """38 files of about 4 GB, read by four ranks from 100 MB/s: 436 GB take 4,360 s; NCCL's line stands first.

    That 144 GB lie on JuiceFS, which is mounted by FUSE, the report says in words; today's engines print it.
    """
    log = _restarted()
    log.append(
        vllm(605, "INFO Filesystem type for checkpoints: FUSE. Checkpoint size: 134.11 GiB. Available RAM: 900 GiB.")
    )
    log.append(vllm(606, "INFO vLLM is using nccl==2.20.5"))
    for shard in range(1, 39):
        done = 610 + shard * 4360 / 38
        share = 100 * shard // 38
        log.append(vllm(done, f"INFO Loading safetensors checkpoint shards: {share}% Completed | {shard}/38"))
    log += [vllm(4975, "INFO Loading weights took 4360.00 seconds"), ready(5100)]
    up = calls(lambda i, t: failed(i, t, "Connection refused") if 600 <= t < 5100 else call(i, t), 5200.0, 20.0)
    return {"vllm.log": "".join(log), "calls.binpb": up}


CASES = (
    *(
        Report(
            id=id,
            agree=3,
            cause="model_load_failure",
            decisive=True,
            suspects=("gpu_memory_exhaustion", "gpu_hardware_fault"),
            files=lambda raised=raised: refused_start(DIED, raised),
        )
        for id, raised in (("C056", CORRUPT), ("C059", ERROR_803), ("C061", ERROR_802), ("C061b", ERROR_804))
    ),
    Report(
        id="C064",
        agree=3,
        cause="slow_weight_storage",
        suspects=("model_load_failure", "gpu_memory_exhaustion"),
        before=lambda: loading(32),
        files=lambda: loading(258),
        asked=Kind.AVAILABILITY,
    ),
    Report(
        id="C065",
        agree=2,
        cause="slow_weight_storage",
        suspects=("gpu_interconnect", "model_load_failure"),
        files=two_hours,
        change=600.0,
        end=5200.0,
    ),
)
