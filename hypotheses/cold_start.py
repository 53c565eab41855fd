"""Are requests slow only because the engine has just started?

After a start, a scale-up or a reload, the first requests pay for compilation, graph capture and empty caches. It
passes by itself: late requests of the same incident are as fast as before.
"""

from correlator.model.names import EARLY, LATENCY, Events
from hypotheses import Experiment, Hypothesis, Kind, fades, necessary, occurs, rises_with, separating

HYPOTHESIS = Hypothesis(
    id="cold_start",
    claim="The engine has just started, and its first requests pay for warming up.",
    explains=frozenset({Kind.LATENCY, Kind.AVAILABILITY}),
    cause=EARLY,
    predictions=(
        necessary(
            "it_started",
            occurs(
                Events.ENGINE_START,
                Events.ENGINE_READY,
                Events.CUDA_GRAPH_CAPTURE,
                seen_by=frozenset({"engine_log", "process_metrics"}),
                often=False,
            ),
        ),
        necessary("it_fades", fades(LATENCY)),
        separating("early_requests_are_the_slow_ones", rises_with(LATENCY, EARLY, in_incident=True)),
    ),
    rivals=("model_change", "recent_change", "lora_activation"),
    experiment=Experiment(
        id="warm_up_request",
        why="A warm-up request per shape before taking traffic removes the effect if this is it.",
        command="# send one request per typical prompt length to a fresh replica, then measure the next hundred",
        expect="after the warm-up the replica is as fast as the others",
        cost=1,
    ),
    remedy="Warm up before readiness: gate readiness on a served request; scale before the peak, not in it.",
)
