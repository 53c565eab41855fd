"""Is it the schema that makes answers slow?

A grammar is compiled for each new schema, and for every token a mask over the whole vocabulary is made on the CPU.
The GPU waits meanwhile: requests with a schema get their tokens late, and others of the same batch with them.
"""

from correlator.model.names import (
    DECODE,
    GPU_POWER,
    GPU_UTIL,
    GRAMMAR_QUEUE,
    PREFILL,
    QUEUE,
    SM_ACTIVE,
    STRUCTURED,
    TIME_PER_OUTPUT_TOKEN,
)  # fmt: skip
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    changed,
    either,
    engine_accounts,
    necessary,
    separating,
    shifted,
    shifted_by,
    slower_with,
    spares_unmarked,
    tokens_slower,
)  # fmt: skip

BACKEND = changed("engine.structured_outputs_backend", kind="the grammar back end")
MORE = shifted_by(STRUCTURED, UP, at_least=0.05)
IDLER = either(
    shifted(GPU_UTIL, DOWN, at_least=1.25),
    where_measured=[shifted(SM_ACTIVE, DOWN, at_least=1.25), shifted(GPU_POWER, DOWN, at_least=1.25)],
)

HYPOTHESIS = Hypothesis(
    id="structured_output_cost",
    claim="Requests that demand a schema or grammar are slow, because their tokens are masked on the CPU.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=STRUCTURED,
    predictions=(
        necessary("more_demand_a_schema", either(MORE, where_measured=[BACKEND])),
        necessary("tokens_take_longer", tokens_slower(at_least=1.1)),
        necessary("where_a_schema_is_demanded", slower_with(STRUCTURED)),
        necessary("engine_accounts_for_it", engine_accounts(DECODE, PREFILL, QUEUE)),
        separating("others_are_spared", spares_unmarked(STRUCTURED, TIME_PER_OUTPUT_TOKEN)),
        separating("the_gpu_waits", IDLER),
        separating("grammars_queue", shifted_by(GRAMMAR_QUEUE, UP, at_least=0.5)),
    ),
    rivals=("kv_cache_preemption", "output_token_inflation", "host_cpu_contention"),
    experiment=Experiment(
        id="same_request_without_schema",
        why="The same prompt with and without its schema separates the grammar from everything else.",
        command="for f in with_schema.json without.json; do time curl -so /dev/null localhost:8000/v1/completions "
        "--json @$f; done",
        expect="without the schema tokens come at the baseline's pace, and the GPU is busy",
    ),
    remedy="Use a faster grammar back end, reuse schemas so that grammars stay cached, serve such requests apart.",
)
