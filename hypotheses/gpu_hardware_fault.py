"""Did the GPU itself fail?

The driver reports faults as Xid codes. Some are the program's own doing (13, 31, 43 and 45: a bad kernel or address);
others are the hardware's: uncorrectable memory, a GPU off the bus, a broken link. Only these count.
"""

from correlator.model.names import ERROR, GPU_ECC_UNCORRECTED, LATENCY, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    either,
    engine_is_down,
    hardware_fault,
    necessary,
    occurs,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

SEEN_BY = frozenset({"gpu_faults", "kernel_log"})

SUFFER = either(
    shifted_by(ERROR, UP, at_least=0.02), where_measured=[shifted(LATENCY, UP, at_least=1.3), engine_is_down()]
)

HYPOTHESIS = Hypothesis(
    id="gpu_hardware_fault",
    claim="A GPU failed in hardware: memory, bus or link.",
    explains=frozenset({Kind.AVAILABILITY, Kind.ERRORS, Kind.LATENCY}),
    cause=ERROR,
    predictions=(
        necessary("a_fault_is_told", hardware_fault(SEEN_BY)),
        necessary("requests_suffer", SUFFER),
        separating("memory_errors", shifted_by(GPU_ECC_UNCORRECTED, UP, at_least=0.001)),
        separating("the_gpu_is_gone", occurs(Events.GPU_LOST, Events.GPU_RESET_REQUIRED, seen_by=SEEN_BY, often=False)),
        separating("at_the_onset", hardware_fault(SEEN_BY, within_s=60)),
    ),
    upstream_of=("retry_storm",),
    rivals=("gpu_memory_exhaustion", "gpu_throttling"),
    experiment=Experiment(
        id="run_diagnostics",
        why="DCGM's diagnostics tell a broken GPU from a program that fails on it.",
        command="dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER; dcgmi diag -r 2   # drain it first",
        expect="the same GPU fails again, others of the host pass",
        cost=2,
        risk=2,
    ),
    remedy="Cordon the GPU, move its work, reset it; replace it where the fault comes again.",
)
