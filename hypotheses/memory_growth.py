"""Does the memory of the serving processes grow without end?

Something is kept for every request and never given back: on the host, or on the GPU beside the KV pool. Memory climbs
steadily long before anybody notices, until there is none left; a restart takes it back to where it began.
"""

from correlator.model.names import (
    ARRIVAL_RATE,
    ERROR,
    GPU_MEMORY_SHARE,
    GPU_MEMORY_USED,
    LATENCY,
    PROCESS_MEMORY,
    Events,
)
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    by_kind,
    climbed,
    climbs,
    either,
    necessary,
    not_grown,
    occurs,
    reaches,
    resets_at_start,
    rises_with,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

ENDED = occurs(
    *(Events.OUT_OF_MEMORY, Events.OOM_KILL, Events.CONTAINER_KILLED),
    seen_by=frozenset({"engine_log", "kernel_log"}),
    often=False,
)
"""One is enough, and it comes before the failures that it brings about."""
FULL = reaches(GPU_MEMORY_SHARE, 0.95)
CLIMBS = either(climbs(PROCESS_MEMORY), climbs(GPU_MEMORY_USED))
CLIMBED = either(climbed(PROCESS_MEMORY), climbed(GPU_MEMORY_USED))
SLOWER = either(
    rises_with(LATENCY, PROCESS_MEMORY, in_incident=True),
    where_measured=[rises_with(LATENCY, GPU_MEMORY_USED, in_incident=True)],
)
"""Within the incident: a step of latency, before and after which memory climbs alike, has another cause."""

HYPOTHESIS = Hypothesis(
    id="memory_growth",
    claim="The memory of the serving processes grows with every request and is never given back.",
    explains=frozenset({Kind.AVAILABILITY, Kind.ERRORS, Kind.LATENCY}),
    cause=PROCESS_MEMORY,
    predictions=(
        necessary("memory_climbs", by_kind(CLIMBS, {Kind.ERRORS: CLIMBED})),
        necessary("it_ran_out_or_slows", by_kind(SLOWER, {Kind.ERRORS: either(ENDED, where_measured=[FULL])})),
        necessary("requests_suffer", by_kind(shifted(LATENCY, UP, 1.1), {Kind.ERRORS: shifted_by(ERROR, UP, 0.02)})),
        separating("traffic_did_not_grow", not_grown(ARRIVAL_RATE, within=1.4)),
        separating("a_restart_resets_it", either(resets_at_start(PROCESS_MEMORY), resets_at_start(GPU_MEMORY_USED))),
    ),
    upstream_of=("gpu_memory_exhaustion",),
    rivals=("gpu_memory_exhaustion", "gpu_cotenant"),
    experiment=Experiment(
        id="restart_one_replica",
        why="A restarted replica beside the old ones, under the same traffic, shows whether memory begins anew.",
        command="ps -o rss=,etime=,args= -C python3 | sort -rn | head; nvidia-smi --query-compute-apps=pid,used_memory "
        "--format=csv   # before and after restarting one replica; then text-only traffic to it",
        expect="it begins low and climbs again; text-only traffic stays flat if images are what is kept",
        cost=2,
        risk=2,
    ),
    remedy="Upgrade or roll back the engine, restart replicas by turns until then, alert on the slope of memory.",
)
