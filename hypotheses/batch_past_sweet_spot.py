"""Is the running batch larger than what still pays?

Decoding reads all weights once for the whole batch, so a larger batch is nearly free until the GPU's bandwidth or the
host's work per step is used up. Beyond that knee tokens per second stay flat and each token takes longer.
"""

from correlator.model.names import (
    ARRIVAL_RATE,
    BATCH_SIZE,
    DECODE,
    DRAM_ACTIVE,
    GENERATION_THROUGHPUT,
    GPU_POWER,
    PREEMPTIONS,
    PREFILL,
    QUEUE,
    RUNNING,
    SM_ACTIVE,
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
    not_grown,
    separating,
    shifted,
    stays_below,
)  # fmt: skip

NO_EVICTIONS = stays_below(PREEMPTIONS, 0.1, while_positive=RUNNING)
"""One in ten seconds: a pool that is full now and then, not one that decides how fast it goes."""
CEILING = either(
    not_grown(GPU_POWER, within=1.1),
    where_measured=[not_grown(SM_ACTIVE, within=1.1), not_grown(DRAM_ACTIVE, within=1.1)],
)

RAISED = changed("engine.max_num_seqs", kind="the limit on concurrent requests")
LET = either(RAISED, where_measured=[shifted(ARRIVAL_RATE, UP, at_least=1.4)])
"""At the same arrivals a batch grows with whatever makes requests take longer (Little's law): then it is no cause."""

HYPOTHESIS = Hypothesis(
    id="batch_past_sweet_spot",
    claim="The running batch grew past the point from which more of it brings no more tokens, only slower ones.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=BATCH_SIZE,
    predictions=(
        necessary("batch_grew", shifted(BATCH_SIZE, UP, at_least=1.25)),
        necessary("it_was_let_grow", LET),
        necessary("tokens_take_longer", shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.25)),
        necessary("throughput_did_not_follow", not_grown(GENERATION_THROUGHPUT, within=1.25)),
        necessary("decode_accounts_for_it", engine_accounts(QUEUE, PREFILL, DECODE)),
        necessary("nothing_is_evicted", NO_EVICTIONS),
        separating("the_gpu_is_at_its_ceiling", CEILING),
        separating("the_limit_was_changed", RAISED),
        separating("throughput_fell", shifted(GENERATION_THROUGHPUT, DOWN, at_least=1.1)),
    ),
    rivals=("kv_cache_preemption", "sm_saturation", "gpu_cotenant"),
    experiment=Experiment(
        id="batch_sweep",
        why="The same load at several limits shows where tokens per second stop rising.",
        command="for n in 64 128 256 512; do vllm serve … --max-num-seqs $n & vllm bench serve …; done",
        expect="tokens per second flat beyond the knee, time per output token rising with the limit",
        cost=3,
        risk=1,
    ),
    remedy="Lower max_num_seqs to the knee: the same tokens per second, each sooner.",
)
