"""Links between GPUs that are not the limit, though they were the suspect."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import app, ready, started, stats
from tests.cases.report import Files, Report

RUN = 120.0


def pipelined(network: str, via: str) -> Files:
    """Two nodes over sockets or InfiniBand: the same tokens a second for one stream."""
    nccl = [app(-15, f"node:71:71 [0] NCCL INFO Using network {network}")]
    nccl += [app(-14, f"node:71:71 [0] NCCL INFO Channel 0{c}/0 : 0[0] -> 1[0] [send] via {via}") for c in (0, 1)]
    log = [*started(-20, pipeline_parallel_size=2), ready(-10)]
    log += [stats(t, 15.0 + t % 3 / 10, 1, 0, 2.0) for t in range(0, int(RUN), 10)]
    return {"nccl.log": "".join(nccl), "vllm.log": "".join(log)}


CASES = (
    Report(
        id="C130",
        agree=2,
        cause="",
        suspects=("gpu_interconnect",),
        before=lambda: pipelined("IB", "NET/IB/0"),
        files=lambda: pipelined("Socket", "NET/Socket/0"),
        asked=Kind.THROUGHPUT,
        fails="of a link without its figures nothing is said: untestable clears nobody",
    ),
)
