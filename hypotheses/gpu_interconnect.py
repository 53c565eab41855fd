"""Do the GPUs of one engine wait for each other, because the link between them got worse?

Tensor-parallel ranks exchange every layer's result. A PCIe link that lost lanes, packets sent again, NVLink errors, or
a transport that fell back to the host's memory make every token take longer, while the SMs wait.
"""

from correlator.model.names import (
    BATCH_SIZE,
    DECODE,
    ERROR,
    GPU_POWER,
    NVLINK_ERRORS,
    PCIE_LINK_WIDTH,
    PCIE_REPLAYS,
    PREFILL,
    QUEUE,
    TIME_PER_OUTPUT_TOKEN,
    Events,
)
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    by_kind,
    either,
    engine_accounts,
    necessary,
    not_grown,
    occurs,
    separating,
    shifted,
    shifted_by,
    tokens_slower,
)  # fmt: skip

TOLD = occurs(
    Events.NCCL_FALLBACK, Events.NCCL_FAILURE, Events.LINK_DOWN, Events.PCIE_ERROR, Events.NVSWITCH_ERROR,
    seen_by=frozenset({"nccl_log", "kernel_log"}),
)  # fmt: skip
LANES = shifted(PCIE_LINK_WIDTH, DOWN, at_least=1.5)
"""Links run on 16, 8, 4, 2 or 1 lanes: the smallest loss is half."""
ERRORS_A_SECOND = 1.0
"""A sound link corrects a few errors a day; one a second is a link that works by repetition."""
REPEATS = shifted_by(PCIE_REPLAYS, UP, at_least=ERRORS_A_SECOND)
NVLINK = shifted_by(NVLINK_ERRORS, UP, at_least=ERRORS_A_SECOND)
FAILING = shifted_by(ERROR, UP, at_least=0.02)

HYPOTHESIS = Hypothesis(
    id="gpu_interconnect",
    claim="The link between GPUs, or from GPU to host, got worse, and every token waits for it.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT, Kind.AVAILABILITY}),
    cause=TIME_PER_OUTPUT_TOKEN,
    predictions=(
        necessary("the_link_got_worse", either(LANES, REPEATS, where_measured=[NVLINK, TOLD])),
        necessary("tokens_take_longer", by_kind(tokens_slower(at_least=1.15), {Kind.ERRORS: FAILING})),
        necessary("engine_accounts_for_it", by_kind(engine_accounts(QUEUE, PREFILL, DECODE), {Kind.ERRORS: FAILING})),
        separating("own_batch_did_not_grow", not_grown(BATCH_SIZE, within=1.25)),
        separating("the_gpu_waits", shifted(GPU_POWER, DOWN, at_least=1.1)),
        separating("it_was_told", TOLD),
    ),
    upstream_of=("traffic_surge", "kv_cache_preemption"),
    rivals=("gpu_hardware_fault", "gpu_throttling", "host_cpu_contention"),
    experiment=Experiment(
        id="link_bandwidth",
        why="Bandwidth per link, and lanes under load, tell a slow link from a rank that comes late to it.",
        command="nvidia-smi topo -m; nvidia-smi --query-gpu=pcie.link.width.current,pcie.link.width.max,"
        "pcie.link.gen.current --format=csv; all_reduce_perf -b 8M -e 256M -f 2 -g 2   # nccl-tests",
        expect="fewer lanes than the most, or a bus bandwidth far below that of the host's other pairs",
    ),
    remedy="Reseat or replace the card or bridge; check ACS, IOMMU and NCCL_P2P_LEVEL; run on one GPU meanwhile.",
)
