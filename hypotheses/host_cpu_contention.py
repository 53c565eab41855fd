"""Does something else take the CPU that the client and the engine's host side need?

Tokenising, scheduling, HTTP and the client's own code run on the CPU. When a neighbour takes it, time appears
between client and server and in the services themselves, at unchanged traffic and tokens.
"""

from correlator.model import names as n
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    either,
    nearer_to_one,
    necessary,
    not_grown,
    reaches,
    rises_with,
    separating,
    shifted,
    shifted_by,
    together,
)  # fmt: skip

THROTTLED_OFTEN = reaches(n.CPU_THROTTLED, 0.25)
"""In a quarter of its periods: where Kubernetes' usual alert on throttled containers fires."""
BUSIER = nearer_to_one(n.HOST_CPU, n.HOST_CPU_LEFT, at_least=1.1, otherwise=n.CPU_PRESSURE)
WAITS = shifted_by(n.CPU_PRESSURE, UP, at_least=0.1)
THROTTLED = shifted_by(n.CPU_THROTTLED, UP, at_least=0.05)
MODEL_TOO = together(THROTTLED, accounts_for(n.QUEUE, n.PREFILL, n.DECODE, at_least=0.2))
"""A throttled engine launches its steps late, and computes them late where it runs on the CPU."""

HYPOTHESIS = Hypothesis(
    id="host_cpu_contention",
    claim="The host's CPU is contended: what runs on it waits for its turn.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=n.HOST_CPU,
    predictions=(
        necessary("cpu_use_rose", either(BUSIER, where_measured=[WAITS, THROTTLED])),
        necessary("cpu_is_nearly_used_up", either(reaches(n.HOST_CPU, 0.9), where_measured=[THROTTLED_OFTEN])),
        necessary(
            "host_side_accounts_for_it", either(accounts_for(n.HOST_SIDE, at_least=0.2), where_measured=[MODEL_TOO])
        ),
        necessary(
            "dose_response",
            either(
                rises_with(n.HOST_SIDE, n.HOST_CPU),
                where_measured=[rises_with(s, n.CPU_THROTTLED) for s in (n.HOST_SIDE, n.TIME_PER_OUTPUT_TOKEN)],
            ),
        ),
        separating("traffic_did_not_grow", not_grown(n.ARRIVAL_RATE, within=1.4)),
        separating(
            "work_per_request_did_not_grow",
            together(not_grown(n.INPUT_TOKENS, within=1.25), not_grown(n.OUTPUT_TOKENS, within=1.25)),
        ),
        separating(
            "every_place_on_the_host_slowed",
            together(*(shifted(part, UP, at_least=1.25) for part in (n.GATEWAY, n.NETWORK, n.ENGINE_HOST))),
        ),
        separating("container_was_throttled", THROTTLED),
    ),
    rivals=("client_pool_exhaustion", "traffic_surge", "model_change", "cuda_graphs_disabled"),
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
