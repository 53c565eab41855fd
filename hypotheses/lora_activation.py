"""Do requests wait until their LoRA adapter is loaded?

The first request that asks for an adapter has it read from disk into one of the few slots on the GPU. With more
adapters in use than slots they displace each other, and the price is paid again and again: by those who ask for the
adapter, and by whoever is in the batch, since the engine stops for all while it loads.
"""

from correlator.model.names import ADAPTER_LOADING, ADAPTER_NEW, LATENCY, PREFILL, QUEUE, TIME_TO_FIRST_TOKEN, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    either,
    necessary,
    occurs,
    rises_with,
    separating,
    shifted_by,
    spares_unmarked,
)  # fmt: skip

SEEN_BY = frozenset({"adapter_metrics"})
"""Only vLLM with LoRA on has them; its log does not tell of the adapters that it began with."""

THEY_WAIT = either(rises_with(LATENCY, ADAPTER_NEW), rises_with(LATENCY, ADAPTER_LOADING))
"""Those who ask for a new adapter, or all who are under way meanwhile."""
OTHERS_ARE_SPARED = either(spares_unmarked(ADAPTER_NEW), spares_unmarked(ADAPTER_LOADING))

HYPOTHESIS = Hypothesis(
    id="lora_activation",
    claim="Requests wait while a LoRA adapter is loaded.",
    explains=frozenset({Kind.LATENCY}),
    cause=ADAPTER_NEW,
    predictions=(
        necessary("adapters_were_loaded", occurs(Events.LORA_ACTIVATED, seen_by=SEEN_BY)),
        necessary("more_ask_for_new_ones", shifted_by(ADAPTER_NEW, UP, at_least=0.01)),
        necessary("they_are_the_slow_ones", THEY_WAIT),
        necessary("others_are_spared", OTHERS_ARE_SPARED),
        separating("their_first_token_is_late", rises_with(TIME_TO_FIRST_TOKEN, ADAPTER_NEW)),
        separating("waiting_accounts_for_it", accounts_for(QUEUE, PREFILL, at_least=0.2)),
    ),
    rivals=("cold_start", "model_change"),
    experiment=Experiment(
        id="warm_the_adapter",
        why="The same short request twice to an adapter that was idle shows what loading it costs.",
        command="for i in 1 2; do time curl -so /dev/null localhost:8000/v1/completions "
        '--json \'{"model": "ADAPTER", "prompt": "hi", "max_tokens": 1}\'; done',
        expect="the first takes longer by what the slow requests took longer, the second is fast",
    ),
    remedy="Warm adapters before they take traffic, raise --max-loras and --max-cpu-loras, route by adapter.",
)
