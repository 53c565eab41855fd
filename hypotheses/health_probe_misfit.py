"""Are healthy engines restarted or taken out of service by their own health probes?

A probe with a time-out of a second fails on a busy server that works well, and the cure is a restart that loses every
request under way. The engine's own progress tells a busy server from a dead one; its /health does not.
"""

from correlator.model.names import ERROR, GENERATION_THROUGHPUT, GOODPUT, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    absent,
    either,
    ended_while_starting,
    errors_follow,
    necessary,
    occurs,
    separating,
    shifted_by,
    worked_until,
)  # fmt: skip

WATCHED = frozenset({"cluster_events"})
PROBES = (Events.PROBE_FAILED, Events.PROBE_RESTART)
CRASHES = (Events.OOM_KILL, Events.PROCESS_CRASH, Events.ENGINE_DEAD, Events.OUT_OF_MEMORY, Events.XID)
STARTING = ended_while_starting(Events.PROBE_RESTART)

HYPOTHESIS = Hypothesis(
    id="health_probe_misfit",
    claim="Health probes fail on an engine that works or still starts, and what they trigger loses its requests.",
    explains=frozenset({Kind.AVAILABILITY, Kind.ERRORS}),
    cause=ERROR,
    predictions=(
        necessary("probes_failed", occurs(*PROBES, seen_by=WATCHED)),
        necessary(
            "the_engine_worked_until_then",
            either(
                worked_until(GENERATION_THROUGHPUT, *PROBES), where_measured=[worked_until(GOODPUT, *PROBES), STARTING]
            ),
        ),
        necessary("more_requests_fail", shifted_by(ERROR, UP, at_least=0.02)),
        necessary("requests_fail_after_it", either(errors_follow(*PROBES), where_measured=[STARTING])),
        separating("it_was_restarted_for_it", occurs(Events.PROBE_RESTART, seen_by=WATCHED)),
        separating("nothing_crashed", absent(*CRASHES, seen_by=frozenset({"engine_log", "kernel_log"}))),
    ),
    rivals=("gpu_hardware_fault", "gpu_memory_exhaustion", "recent_change"),
    experiment=Experiment(
        id="http_health",
        why="The probe's time under the load at which it fails, beside the engine's progress, shows which is wrong.",
        command=(
            "for i in $(seq 60); do curl -s -o /dev/null -w '%{http_code} %{time_total}\\n' localhost:8000/health; "
            "curl -s localhost:8000/metrics | grep -m1 ^vllm:generation_tokens_total; sleep 1; done"
        ),
        expect="tokens go on growing while /health takes longer than the probe's timeoutSeconds",
        cost=1,
    ),
    remedy="Raise timeoutSeconds beyond its p99 under load (3 s or more), and failureThreshold; use startupProbe.",
)
