"""Does the GPU run slower than it could, for heat, a power brake or a hardware slowdown?

Lowered clocks stretch every token alike. A software power cap alone is no fault: a GPU at full load is always near it.
A cap that was lowered, and is reached, is one.
Clocks may also stay low without any reason that is told: latched after a fault, or by a licence limit of a vGPU.
"""

from correlator.model.names import (
    DECODE,
    GPU_POWER_LIMIT,
    GPU_POWER_SHARE,
    GPU_SM_CLOCK,
    GPU_TEMPERATURE,
    GPU_THROTTLED,
    GPU_UTIL,
    PREFILL,
    QUEUE,
    TIME_PER_OUTPUT_TOKEN,
)  # fmt: skip
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    either,
    necessary,
    not_fallen,
    reaches,
    separating,
    shifted,
    shifted_by,
    together,
)  # fmt: skip

THROTTLED = shifted_by(GPU_THROTTLED, UP, at_least=0.1)
LATCHED = together(shifted(GPU_SM_CLOCK, DOWN, at_least=1.25), not_fallen(GPU_UTIL, within=1.1))
"""A quarter slower while just as busy: an idle GPU lowers its clocks by itself."""
CAPPED = together(shifted(GPU_POWER_LIMIT, DOWN, at_least=1.1), reaches(GPU_POWER_SHARE, 0.9))
"""Less may be drawn than before, and all of it is: clocks need not have been recorded beside it."""

HYPOTHESIS = Hypothesis(
    id="gpu_throttling",
    claim="The GPU's clocks were lowered by heat, hardware or a limit on power, and every token takes longer.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=GPU_SM_CLOCK,
    predictions=(
        necessary("clocks_fell", either(shifted(GPU_SM_CLOCK, DOWN, at_least=1.1), where_measured=[CAPPED])),
        necessary("a_reason_or_latched", either(THROTTLED, where_measured=[LATCHED, CAPPED])),
        necessary("tokens_take_longer", shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.1)),
        necessary("engine_accounts_for_it", accounts_for(QUEUE, PREFILL, DECODE, at_least=0.2)),
        separating("a_reason_is_told", THROTTLED),
        separating("clocks_are_low_under_load", LATCHED),
        separating("the_power_limit_was_lowered", CAPPED),
        separating("it_is_hotter", shifted_by(GPU_TEMPERATURE, UP, at_least=5)),
    ),
    rivals=("sm_saturation", "gpu_cotenant"),
    experiment=Experiment(
        id="clocks_under_load",
        why="Clocks and reasons side by side under load tell throttling from an idle GPU's low clocks.",
        command="nvidia-smi -l 1 --format=csv --query-gpu=timestamp,uuid,clocks.sm,clocks_event_reasons.active,"
        "temperature.gpu,power.draw",
        expect="clocks below the maximum with a thermal, power-brake or hardware reason active",
        cost=1,
    ),
    remedy="Look at cooling, power supply and power limit; reset or cordon a GPU whose clocks stay low.",
)
