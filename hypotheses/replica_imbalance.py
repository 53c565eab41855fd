"""Do requests pile up at one replica while another has room?

Long-lived connections, sticky routing or stale counts send requests where others are already. The replicas together
could serve them all; only the hot ones are slow.
"""

from correlator.model.names import ARRIVAL_RATE, DECODE, LATENCY, LEAST_LOAD, LOAD_IMBALANCE, PREFILL, QUEUE, WAITING
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    necessary,
    not_grown,
    rises_with,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

HYPOTHESIS = Hypothesis(
    id="replica_imbalance",
    claim="Requests pile up at some replicas while others have room.",
    explains=frozenset({Kind.LATENCY}),
    cause=LOAD_IMBALANCE,
    predictions=(
        necessary("load_is_uneven", shifted_by(LOAD_IMBALANCE, UP, at_least=0.1)),
        necessary("another_replica_has_room", not_grown(LEAST_LOAD, within=1.25)),
        necessary("dose_response", rises_with(LATENCY, LOAD_IMBALANCE)),
        necessary("engine_accounts_for_it", accounts_for(QUEUE, PREFILL, DECODE, at_least=0.2)),
        separating("the_other_has_less_to_do", shifted(LEAST_LOAD, DOWN, at_least=1.25)),
        separating("requests_wait", shifted_by(WAITING, UP, at_least=0.5)),
        separating("traffic_did_not_grow", not_grown(ARRIVAL_RATE, within=1.4)),
    ),
    upstream_of=("kv_cache_preemption", "scheduler_concurrency_cap", "batch_past_sweet_spot"),
    rivals=("traffic_surge", "scheduler_concurrency_cap"),
    experiment=Experiment(
        id="drain_the_hot_replica",
        why="Without the hot replica the rest shows whether they can serve all of it.",
        command="for h in $REPLICAS; do echo $h; curl -s $h/metrics | grep -E '^vllm:num_requests_(running|waiting)'; "
        "done   # then drain the fullest",
        expect="the others take its requests and stay fast",
        cost=2,
        risk=2,
    ),
    remedy="Balance by outstanding requests, per request and not per connection; cap the age of connections.",
)
