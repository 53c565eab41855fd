"""What can go wrong in an engine and its GPU: see `faults.py`."""

from __future__ import annotations

from benchmarks.lab.client_faults import MARKED
from benchmarks.lab.world import CALM, GpuConfig, Scenario, scenario

GPU = GpuConfig()
MEASURED = CALM.with_(gpu=GPU, load={"rate": 2.4, "output": 190.0})
"""Answers last longer than DCGM's interval, so that single requests can be tied to what it told."""
THERMAL = 0x20 | 0x40
"""SW and HW thermal slowdown."""
DOUBLE_BIT = 48


def batch_past_sweet_spot(severity: float) -> Scenario:
    """A restart with a limit far beyond the batch from which more sequences bring fewer tokens a second."""
    before = CALM.with_(
        load={"rate": 13.5, "output": 90.0, "prompt": 60.0},
        engine={
            "max_num_seqs": 16,
            "knee": 16,
            "beyond_s": 0.65e-3 * (1 + 0.3 * severity),
            "flags": {"max_num_seqs": 16},
        },
    )
    after = before.with_(engine={"max_num_seqs": 64, "flags": {"max_num_seqs": 64}})
    return scenario("batch_past_sweet_spot", before, after, restart=True)


def prefill_head_of_line(severity: float) -> Scenario:
    """A few very long prompts come to an engine that lets each take a whole step."""
    flags = {"enable_chunked_prefill": False, "max_num_batched_tokens": 65536}
    engine = {"max_model_len": 65536, "max_num_batched_tokens": 65536, "flags": flags}
    before = CALM.with_(load={"rate": 3.5}, engine=engine)
    after = before.with_(load={"long_share": 0.05, "long_prompt": 10000 * severity})
    return scenario("prefill_head_of_line", before, after, also=("input_token_inflation",))


def cuda_graphs_disabled(severity: float) -> Scenario:
    """A restart in eager mode: the host launches each kernel of a step by itself."""
    before = CALM.with_(engine={"eager": False})
    after = before.with_(engine={"eager": True, "host_s": 5.6e-3 * severity})
    return scenario("cuda_graphs_disabled", before, after, restart=True)


def speculative_acceptance_drop(severity: float) -> Scenario:
    """What is asked becomes hard to guess for the draft model; a step costs the same and brings fewer tokens."""
    config = {"model": "./draft", "num_speculative_tokens": 4}
    engine = {"drafts": 4, "base_s": 14e-3, "flags": {"speculative_config": config}}
    before = CALM.with_(load={"output": 80.0, "guessable": 0.85}, engine=engine)
    after = before.with_(load={"guessable": max(0.05, 0.85 - 0.35 * severity)})
    return scenario("speculative_acceptance_drop", before, after)


def structured_output_cost(severity: float) -> Scenario:
    """Half of the requests begin to demand a JSON schema, whose mask is made on the CPU for each token."""
    before = MEASURED.with_(load={"schema_share": 0.03}, engine={"mask_s": 1.5e-3 * severity})
    return scenario("structured_output_cost", before, before.with_(load={"schema_share": 0.5}))


def lora_activation(severity: float) -> Scenario:
    """More adapters are asked for than there are slots."""
    flags = {"enable_lora": True, "max_loras": 4}
    engine = {"max_loras": 4, "lora_load_s": 0.6 * severity, "flags": flags}
    before = CALM.with_(load={"adapters": 3, "rate": 1.2}, engine=engine)
    return scenario("lora_activation", before, before.with_(load={"adapters": 5}))


def request_larger_than_kv_pool(severity: float) -> Scenario:
    """A prompt that the context allows and the pool cannot hold, behind a proxy that gives up for its callers only."""
    before = CALM.with_(engine={"blocks": 12}, client={"timeout_s": 10.0, "hidden_retries": True}, load={"rate": 2.0})
    after = before.with_(load={"long_share": 0.04 * severity, "long_prompt": 1700.0})
    return scenario("request_larger_than_kv_pool", before, after, symptom="errors")


def memory_growth(severity: float) -> Scenario:
    """Each request leaves something behind, until the kernel ends the engine late in the incident."""
    window_s, died_s = 120.0, 120 - 35 * severity
    engine = {"leak_bytes": 12e6, "memory_limit": CALM.engine.memory_bytes + 12e6 * CALM.load.rate * (138 + died_s)}
    before = CALM.with_(engine=engine)
    return scenario("memory_growth", before, before, symptom="errors", window_s=window_s)


def replica_imbalance(severity: float) -> Scenario:
    """Calls begin to stick to one of two replicas."""
    before = CALM.with_(
        load={"rate": 9.5, "output": 60.0},
        client={"replicas": 2},
        engine={"max_num_seqs": 4, "flags": {"max_num_seqs": 4}},
    )
    return scenario("replica_imbalance", before, before.with_(client={"sticky": min(0.9 * severity, 1.0)}))


def model_load_failure(severity: float) -> Scenario:
    """A restart on a weight file that was cut short: nothing serves."""
    return scenario(
        "model_load_failure", CALM, CALM.with_(engine={"broken_weights": True}), restart=True, symptom="errors"
    )


def gpu_throttling(severity: float) -> Scenario:
    """The GPU grows hot and lowers its clocks."""
    hot = GpuConfig(clock=1 / (1 + 0.8 * severity), reasons=THERMAL, celsius=80)
    return scenario("gpu_throttling", MEASURED, MEASURED.with_(gpu=hot))


def gpu_cotenant(severity: float) -> Scenario:
    """Something else begins to run on the GPU that the engine leaves a part of its memory to."""
    before = MEASURED.with_(engine={"memory_share": 0.6, "flags": {"gpu_memory_utilization": 0.6}})
    shared = GpuConfig(others=1 - 1 / (1 + 0.9 * severity), others_bytes=20 * 2**30)
    return scenario("gpu_cotenant", before, before.with_(gpu=shared))


def gpu_hardware_fault(severity: float) -> Scenario:
    """Memory of the GPU fails beyond correction, again and again; each time the engine has to start anew."""
    after = MEASURED.with_(gpu=GpuConfig(xid=DOUBLE_BIT))
    return scenario("gpu_hardware_fault", MEASURED, after, symptom="errors")


def sm_saturation(severity: float) -> Scenario:
    """A third more traffic, for which the GPU's multiprocessors have no room: a batch beyond 24 fills them."""
    engine = {"knee": 24, "beyond_s": 0.6e-3}
    before = MEASURED.with_(load={"rate": 5.6}, engine=engine)
    after = before.with_(load={"rate": 5.6 * (1 + 0.38 * severity)})
    return scenario("sm_saturation", before, after, also=("traffic_surge",))


def gpu_memory_fragmentation(severity: float) -> Scenario:
    """The allocator finds no piece that is large enough for one prefill in six, until it gives all of them back."""
    after = MEASURED.with_(gpu=GpuConfig(retry_share=0.16, retry_s=1.2 * severity))
    return scenario("gpu_memory_fragmentation", MEASURED, after)


def quantization_collapse(severity: float) -> Scenario:
    """A restart with weights in four bits, which the model does not bear."""
    after = MARKED.with_(engine={"flags": {"quantization": "awq_marlin"}}, client={"score": 0.8 - 0.3 * severity})
    return scenario("quantization_collapse", MARKED, after, restart=True, symptom="quality")


def chat_template_duplication(severity: float) -> Scenario:
    """A restart with a template of one's own, which clients that render it themselves now have twice."""
    after = MARKED.with_(
        load={"template_tokens": 45},
        engine={"flags": {"chat_template": "./template.jinja"}},
        client={"score": 0.8 - 0.25 * severity},
    )
    return scenario("chat_template_duplication", MARKED, after, restart=True, symptom="quality")


ENGINE_FAULTS = (
    batch_past_sweet_spot, prefill_head_of_line, cuda_graphs_disabled, speculative_acceptance_drop,
    structured_output_cost, lora_activation, request_larger_than_kv_pool, memory_growth, replica_imbalance,
    model_load_failure, gpu_throttling, gpu_cotenant, gpu_hardware_fault, sm_saturation, gpu_memory_fragmentation,
    quantization_collapse, chat_template_duplication,
)  # fmt: skip
