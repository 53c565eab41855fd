"""Does something else run on the GPU that the engine serves from?

Another engine, a notebook or a training job takes SMs and memory bandwidth, so that every token takes longer at the
same batch; memory that is not the engine's own appears with it, and may leave it a smaller KV pool.
"""

from correlator.model import names as n
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    by_kind,
    either,
    engine_is_down,
    necessary,
    not_grown,
    occurs,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

A_MODEL = 4 * 2**30
"""Bytes: beyond what an engine itself may take above its share (CUDA graphs, up to 3 GiB, and a context)."""
MEMORY = shifted_by(n.GPU_OTHER_MEMORY, UP, at_least=A_MODEL)
SHARE_OF_SMS = shifted_by(n.GPU_OTHER_SM, UP, at_least=0.1)
BUSIER = either(
    shifted(n.GPU_POWER, UP, at_least=1.1),
    where_measured=[
        shifted(n.GPU_UTIL, UP, at_least=1.1),
        shifted(n.SM_ACTIVE, UP, at_least=1.1),
        shifted(n.DRAM_ACTIVE, UP, at_least=1.1),
    ],
)
RELEASED = occurs(n.Events.MEMORY_RELEASED, seen_by=frozenset({"engine_log"}))
"""While an engine measures what it may take another gave memory back: vLLM ends its start then, whoever it was."""
ACCOUNTS = accounts_for(n.QUEUE, n.PREFILL, n.DECODE, at_least=0.2)
FAILS = {Kind.ERRORS: either(shifted_by(n.ERROR, UP, at_least=0.02), where_measured=[engine_is_down()])}

HYPOTHESIS = Hypothesis(
    id="gpu_cotenant",
    claim="Another process or engine uses the same GPU, so each token of this one takes longer, or its start fails.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT, Kind.AVAILABILITY, Kind.ERRORS}),
    cause=n.GPU_OTHER_MEMORY,
    predictions=(
        necessary("it_appeared", by_kind(either(MEMORY, where_measured=[SHARE_OF_SMS]), {Kind.ERRORS: RELEASED})),
        necessary("tokens_take_longer", by_kind(shifted(n.TIME_PER_OUTPUT_TOKEN, UP, at_least=1.15), FAILS)),
        necessary("engine_accounts_for_it", by_kind(ACCOUNTS, {Kind.ERRORS: RELEASED})),
        separating("own_batch_did_not_grow", not_grown(n.BATCH_SIZE, within=1.25)),
        separating("the_gpu_is_busier", BUSIER),
        separating("it_takes_sms", SHARE_OF_SMS),
        separating("it_ended_a_start", RELEASED),
        separating("it_leaves_a_smaller_pool", shifted(n.KV_CACHE_CAPACITY, DOWN, at_least=1.25)),
    ),
    upstream_of=("kv_cache_preemption", "gpu_memory_exhaustion", "sm_saturation"),
    rivals=("sm_saturation", "batch_past_sweet_spot", "gpu_throttling"),
    experiment=Experiment(
        id="gpu_processes",
        why="The list of processes on the GPU names whose memory it is.",
        command="nvidia-smi --query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_memory --format=csv -l 1",
        expect="a process that is not the engine's holds memory; without it time per token is the baseline's",
        cost=1,
    ),
    remedy="Move the other process to another GPU, or give each its own (MIG, CUDA_VISIBLE_DEVICES).",
)
