"""Are the GPU's multiprocessors full, so that more work only takes longer?

"GPU utilization" says that some kernel ran, not how full the GPU was: at 100 % and low power it mostly waited. The
profiling counter of SM activity says it, with power and the tensor or memory pipes beside it as witnesses.
"""

from correlator.model.names import (
    DECODE,
    DRAM_ACTIVE,
    GPU_POWER,
    GPU_POWER_SHARE,
    INPUT_TOKENS,
    LATENCY,
    OUTPUT_TOKENS,
    PREFILL,
    QUEUE,
    SM_ACTIVE,
    TENSOR_ACTIVE,
    TIME_PER_OUTPUT_TOKEN,
)  # fmt: skip
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    either,
    necessary,
    not_grown,
    reaches,
    rises_with,
    separating,
    shifted,
    shifted_by,
    together,
)  # fmt: skip

WITNESSES = either(
    shifted(GPU_POWER, UP, at_least=1.05),
    where_measured=[
        reaches(GPU_POWER_SHARE, 0.9), shifted_by(TENSOR_ACTIVE, UP, at_least=0.05),
        shifted_by(DRAM_ACTIVE, UP, at_least=0.05),
    ],
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="sm_saturation",
    claim="The GPU's multiprocessors are full, and the requests' time grows with how full they are.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=SM_ACTIVE,
    predictions=(
        necessary("sms_are_full", reaches(SM_ACTIVE, 0.9)),
        necessary("sms_are_busier", shifted_by(SM_ACTIVE, UP, at_least=0.05)),
        necessary(
            "dose_response",
            either(rises_with(LATENCY, SM_ACTIVE), where_measured=[rises_with(TIME_PER_OUTPUT_TOKEN, SM_ACTIVE)]),
        ),
        necessary("engine_accounts_for_it", accounts_for(QUEUE, PREFILL, DECODE, at_least=0.2)),
        separating("power_and_pipes_say_so_too", WITNESSES),
        separating(
            "work_per_request_did_not_grow",
            together(not_grown(INPUT_TOKENS, within=1.25), not_grown(OUTPUT_TOKENS, within=1.25)),
        ),
    ),
    rivals=("gpu_cotenant", "gpu_throttling", "batch_past_sweet_spot", "traffic_surge", "cuda_graphs_disabled"),
    experiment=Experiment(
        id="add_a_replica",
        why="Half the load on the same GPU shows whether it was full.",
        command="dcgmi dmon -e 1002,1004,1005,155 -d 1000   # while a second replica takes half of the requests",
        expect="SM activity falls well below 0.9 and time per token returns to the baseline",
        cost=3,
    ),
    remedy="Add a replica, shed load, or lower the batch; quantize or use a faster GPU where it stays full.",
)
