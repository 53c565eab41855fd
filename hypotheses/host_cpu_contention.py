"""Does something else take the CPU that the client and the engine's host side need?

Tokenising, scheduling, HTTP and the client's own code run on the CPU. When a neighbour takes it, time appears
between client and server and in the services themselves, at unchanged traffic and tokens.
"""

from correlator.model.names import (
    ARRIVAL_RATE,
    CPU_THROTTLED,
    HOST_CPU,
    HOST_SIDE,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
)  # fmt: skip
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    necessary,
    not_grown,
    reaches,
    rises_with,
    separating,
    shifted,
    shifted_by,
    together,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="host_cpu_contention",
    claim="The host's CPU is contended: what runs on it beside the model waits for its turn.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=HOST_CPU,
    predictions=(
        necessary("cpu_use_rose", shifted(HOST_CPU, UP, at_least=1.1)),
        necessary("cpu_is_nearly_used_up", reaches(HOST_CPU, 0.9)),
        necessary("host_side_accounts_for_it", accounts_for(HOST_SIDE, at_least=0.2)),
        necessary("dose_response", rises_with(HOST_SIDE, HOST_CPU)),
        separating("traffic_did_not_grow", not_grown(ARRIVAL_RATE, within=1.4)),
        separating(
            "work_per_request_did_not_grow",
            together(not_grown(INPUT_TOKENS, within=1.25), not_grown(OUTPUT_TOKENS, within=1.25)),
        ),
        separating("container_was_throttled", shifted_by(CPU_THROTTLED, UP, at_least=0.05)),
    ),
    rivals=("client_pool_exhaustion", "traffic_surge", "model_change"),
    experiment=Experiment(
        id="move_the_neighbour",
        why="Pinning the service to its own cores, or moving the neighbour, takes away the contention alone.",
        command="pidstat -u 1 10 && cat /sys/fs/cgroup/cpu.stat   # who uses the CPU; then pin or limit it",
        expect="the time between client and server returns to the baseline",
        cost=1,
        risk=1,
    ),
    remedy="Pin or move the neighbour, set CPU requests and limits, give the engine's front end cores of its own.",
)
