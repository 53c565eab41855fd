"""Did the engine come up late because its weights were read slowly?

Weights on network storage, or mapped and read at random, load at a hundredth of a local disk's speed; each rank may
read all of them. Nothing serves meanwhile, CPU and GPU are idle, and the last line of the log is innocent.
"""

from correlator.model.names import ERROR, LATENCY, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    either,
    necessary,
    occurs,
    separating,
    shifted,
    shifted_by,
    weights_came_slowly,
    weights_on_network,
)  # fmt: skip

SUFFER = either(shifted_by(ERROR, UP, at_least=0.02), where_measured=[shifted(LATENCY, UP, at_least=1.3)])

HYPOTHESIS = Hypothesis(
    id="slow_weight_storage",
    claim="The engine was long in coming up because its weights were read from slow storage.",
    explains=frozenset({Kind.AVAILABILITY, Kind.ERRORS, Kind.LATENCY}),
    cause=ERROR,
    predictions=(
        necessary("it_started", occurs(Events.ENGINE_START, seen_by=frozenset({"engine_log"}), often=False)),
        necessary("weights_load_slowly", weights_came_slowly()),
        necessary("requests_suffer", SUFFER),
        separating("on_network_storage", weights_on_network()),
    ),
    rivals=("cold_start", "model_load_failure"),
    experiment=Experiment(
        id="read_a_shard",
        why="One weight file read twice, cold and from the page cache, tells the storage's speed from the loader's.",
        command="f=$(ls *.safetensors | head -1); echo 3 | sudo tee /proc/sys/vm/drop_caches; "
        "dd if=$f of=/dev/null bs=16M; dd if=$f of=/dev/null bs=16M   # cold, then cached",
        expect="the first is as slow as the load was, the second many times faster",
        cost=1,
        risk=2,
    ),
    remedy="Copy weights to a local disk or keep them in a cache volume; load without mmap; let one rank read for all.",
)
