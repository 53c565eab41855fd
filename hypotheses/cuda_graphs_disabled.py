"""Does the engine run steps without CUDA graphs that it used to replay?

Launching every kernel of a step from Python costs the host more than a small batch costs the GPU. Eager mode, or a
batch beyond the largest captured size, brings that cost back: tokens take longer while the GPU does less.
"""

from correlator.model.names import (
    BATCH_SIZE,
    CUDA_GRAPHED,
    DECODE,
    GPU_POWER,
    HOST_CPU,
    OUTPUT_TOKENS,
    PREFILL,
    QUEUE,
    SM_ACTIVE,
    TIME_PER_OUTPUT_TOKEN,
)  # fmt: skip
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    either,
    engine_accounts,
    exceeds,
    moved_to,
    necessary,
    not_grown,
    separating,
    set_to,
    shifted,
    shifted_by,
    together,
    tokens_slower,
)  # fmt: skip

LARGEST = "engine.max_cudagraph_capture_size"
EAGER = set_to("engine.enforce_eager", "True", kind="eager mode")
BEYOND = exceeds(BATCH_SIZE, LARGEST)
FEWER = moved_to(LARGEST, "the largest captured batch", lower=True)
SEEN = shifted_by(CUDA_GRAPHED, DOWN, at_least=0.1)

HYPOTHESIS = Hypothesis(
    id="cuda_graphs_disabled",
    claim="Steps run without CUDA graphs: in eager mode, or with a batch beyond the captured sizes.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=TIME_PER_OUTPUT_TOKEN,
    predictions=(
        necessary("steps_run_without_graphs", either(EAGER, BEYOND, where_measured=[FEWER, SEEN])),
        necessary("tokens_take_longer", tokens_slower(at_least=1.15)),
        necessary("engine_accounts_for_it", engine_accounts(DECODE, PREFILL, QUEUE)),
        separating(
            "even_small_batches",
            together(EAGER, shifted(TIME_PER_OUTPUT_TOKEN, UP, at_least=1.15, statistic="p10")),
        ),
        separating("work_did_not_grow", together(EAGER, not_grown(OUTPUT_TOKENS, within=1.25))),
        separating("the_batch_left_the_captured_sizes", BEYOND),
        separating("fewer_sizes_are_captured", FEWER),
        separating("steps_were_seen_without_graphs", SEEN),
        separating("the_gpu_does_less", either(shifted(SM_ACTIVE, DOWN, 1.1), shifted(GPU_POWER, DOWN, 1.1))),
        separating("the_host_does_more", shifted(HOST_CPU, UP, at_least=1.1)),
    ),
    rivals=("sm_saturation", "model_change", "batch_past_sweet_spot"),
    experiment=Experiment(
        id="cuda_graph_state",
        why="One replica with graphs for every batch it can reach shows what they are worth.",
        command="grep -hE 'enforce_eager|cudagraph_capture_sizes|Graph capturing finished' vllm.log | tail -3",
        expect="eager mode, or no captured size as large as the batch; with graphs tokens come as fast as before",
    ),
    remedy="Drop --enforce-eager, or capture up to the batch that runs (max_cudagraph_capture_size ≥ max_num_seqs).",
)
