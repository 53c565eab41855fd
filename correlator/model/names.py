"""Canonical signals: one name and one unit each, whatever the source calls them.

Source names (aliases) live in `configs/signals.yaml`; a test keeps both lists equal in name and unit.
Shares run from 0 to 1, times are seconds, sizes bytes. A ledger part is a signal too: the seconds of a
request that were spent there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signal:
    """A canonical signal: column name in the evidence frames, unit (UCUM as in OpenTelemetry), meaning."""

    name: str
    unit: str
    meaning: str

    @property
    def below_baseline_p90(self) -> Group:
        """The requests whose value lies below the baseline's 90th percentile."""
        return Group(signal=self, quantile=0.9)


@dataclass(frozen=True, slots=True)
class Group:
    """Requests whose `signal` is at most the baseline's `quantile`: the ones a cause should spare."""

    signal: Signal
    quantile: float


LATENCY = Signal("request_latency", "s", "whole request, arrival to last token")
TIME_TO_FIRST_TOKEN = Signal("time_to_first_token", "s", "arrival to first token")
TIME_PER_OUTPUT_TOKEN = Signal("time_per_output_token", "s", "decode time per output token after the first")
PREFILL_PER_TOKEN = Signal("prefill_time_per_input_token", "s", "prefill time per prompt token")
INPUT_TOKENS = Signal("input_tokens", "{token}", "prompt tokens of a request, cached ones included")
OUTPUT_TOKENS = Signal("output_tokens", "{token}", "tokens generated for a request")
CACHED_INPUT_TOKENS = Signal("cached_input_tokens", "{token}", "prompt tokens served from a prefix cache")
CACHED_SHARE = Signal("cached_share", "1", "share of prompt tokens served from a prefix cache")
MAX_TOKENS = Signal("max_tokens_requested", "{token}", "the request's own limit on output tokens")
TRUNCATED = Signal("truncated", "1", "1 where the answer ended at its length limit")
DEGENERATE = Signal(
    "degenerate_answer",
    "1",
    "1 where the answer ended in a loop of repeated tokens, or came of logits that are no numbers",
)
ANSWER_SCORE = Signal("answer_score", "1", "how good an evaluator found the answer, from 0 to 1")
ANSWER_SHORTFALL = Signal("answer_shortfall", "1", "one minus how good an evaluator found the answer")
PROMPT_AT_LIMIT = Signal(
    "prompt_at_limit", "1", "1 where the prompt has just as many tokens as many others, and none of the time has more"
)
ERROR = Signal("error", "1", "1 where the request failed")
ATTEMPTS = Signal("attempts", "{attempt}", "tries sent upstream for one logical request")
GIVEN_UP = Signal("given_up_after", "s", "longest time after which a try was given up and sent again")
MODEL_ERROR = Signal("model_error", "1", "1 where the call of the model failed")
RETRIEVED = Signal("retrieval_count", "{document}", "documents returned by retrieval")
EMPTY_RETRIEVAL = Signal("empty_retrieval", "1", "1 where retrieval returned no document")
RETRIEVAL_SCORE = Signal("retrieval_score", "1", "best similarity score of a retrieval")
RETRIEVAL_DISTANCE = Signal("retrieval_distance", "1", "one minus the best similarity score of a retrieval")
STORE_POOL_ERROR = Signal("store_pool_error", "1", "1 where the request failed for want of a database connection")
DIMENSION_ERROR = Signal("dimension_error", "1", "1 where the request failed since a vector did not fit the index")
CUT_ERROR = Signal("cut_answer_error", "1", "1 where the request failed on an answer that ends too early to be read")
SCHEMA_ERROR = Signal("schema_error", "1", "1 where the request failed since a message did not fit its schema")
PROXY_ERROR = Signal("proxy_timeout_error", "1", "1 where a proxy gave the request up before the answer was whole")
CONNECTION_ERROR = Signal("connection_error", "1", "1 where the request failed with its connection")
DEPENDENCY_ERROR = Signal("dependency_error", "1", "1 where the request failed and so did a call of another service")
IDLE_BEFORE = Signal("idle_before_call", "s", "how long the client instance had no model call open before this one")
FIRST_TOKEN_HELD = Signal("first_token_held_back", "s", "from the engine's first token until the client had one")
CLIENT_PER_TOKEN = Signal(
    "client_time_per_output_token", "s", "between two tokens as the client saw them, after the first"
)
SERVER_LATENCY = Signal("server_latency", "s", "the request as the serving engine saw it")
CLIENT_LATENCY = Signal("client_latency", "s", "the model call as the client saw it")
OUTBOUND = Signal("outbound_time", "s", "from the client's start of the call to its arrival at the server")
IN_FLIGHT = Signal("in_flight", "{request}", "requests under way when this one started")
SERVER_IN_FLIGHT = Signal("server_in_flight", "{request}", "requests at the server when this call was sent")
CALLS_IN_FLIGHT = Signal("calls_in_flight", "{request}", "model calls the clients had open when this was sent")

CALLS_QUEUED = Signal("calls_queued", "{request}", "calls open at the clients that the server had not seen yet")
HOST_SIDE = Signal("host_side_time", "s", "outside the model: network, gateway and what is not attributed")
ENGINE_HOST = Signal("engine_host_time", "s", "in the engine beside queue, prefill and decode: tokenizing, HTTP")
CONTEXT_ERROR = Signal("context_error", "1", "1 where the request was refused for its length")
REQUESTED_TOKENS = Signal("requested_tokens", "{token}", "prompt and room for the answer, as a refusal counts them")
CONTEXT_LIMIT = Signal("context_limit", "{token}", "the model's context length, as a refusal names it")
EARLY = Signal("seconds_before_warm", "s", "minus the seconds since the engine last started")

ARRIVAL_RATE = Signal("arrival_rate", "{request}/s", "requests that began, per second")
OFFERED_LOAD = Signal("offered_load", "{attempt}/s", "tries sent, repeated ones too, per second")
GOODPUT = Signal("goodput", "{request}/s", "requests answered without an error, per second")
GENERATION_THROUGHPUT = Signal("generation_throughput", "{token}/s", "tokens generated per second")
PROMPT_THROUGHPUT = Signal("prompt_throughput", "{token}/s", "prompt tokens processed per second")
RUNNING = Signal("running_requests", "{request}", "requests in the running batch")
RUNNING_WHILE_WAITING = Signal(
    "running_while_waiting", "{request}", "requests in the running batch at moments when others waited"
)
ENGINE_DOWN = Signal(
    "engine_down", "1", "share of time in which none was ready since an engine died, or failed to start"
)
ENGINES = Signal("engines", "{engine}", "engine instances that told of their running batch")
BATCH_SIZE = Signal("batch_size", "{request}", "requests in the running batch of one engine")
WAITING = Signal("waiting_requests", "{request}", "requests admitted but not yet scheduled")
SWAPPED = Signal("swapped_requests", "{request}", "requests whose KV blocks were swapped out")
PREEMPTIONS = Signal("preemptions", "{event}/s", "running requests evicted for lack of KV blocks, per second")
KV_CACHE_USAGE = Signal("kv_cache_usage", "1", "share of the KV pool in use")
KV_CACHE_CAPACITY = Signal("kv_cache_capacity", "{token}", "tokens the KV pool can hold")
KV_PRESSURE = Signal("kv_pressure", "1", "share of time with requests evicted, or waiting while the KV pool is full")
COMPUTED_TOKENS = Signal("computed_tokens", "{token}", "prompt tokens computed for a request, not found in a cache")
PREFIX_QUERIES = Signal("prefix_cache_queries", "{token}/s", "prompt tokens looked up in the prefix cache, per second")
HOST_CPU = Signal("host_cpu_utilization", "1", "share of the host's CPU time in use")
HOST_CPU_LEFT = Signal("host_cpu_left", "1", "share of the host's CPU time left unused")
CPU_PRESSURE = Signal("cpu_pressure", "1", "share of time in which some task waited for a CPU")
CPU_THROTTLED = Signal("cpu_throttled_share", "1", "share of CPU periods in which the container was throttled")
POOL_USED = Signal("pool_used", "{connection}", "pooled connections in use")
POOL_MAX = Signal("pool_max", "{connection}", "largest number of pooled connections")
POOL_SHARE = Signal("pool_share", "1", "share of the pooled connections in use")
POOL_PENDING = Signal("pool_pending", "{request}", "calls waiting for a pooled connection")
STORE_POOL_USED = Signal("store_pool_used", "{connection}", "database connections of a pool in use")
STORE_POOL_MAX = Signal("store_pool_max", "{connection}", "largest number of database connections of a pool")
STORE_POOL_SHARE = Signal("store_pool_share", "1", "share of the pooled database connections in use")
STORE_POOL_PENDING = Signal("store_pool_pending", "{request}", "calls waiting for a database connection")
STORE_POOL_HELD = Signal("store_pool_use_time", "s", "how long a call holds its database connection")
TELEMETRY_LOST = Signal("telemetry_lost_share", "1", "share of requests whose trace is torn: spans of it are missing")
TELEMETRY_REFUSED = Signal("telemetry_refused_share", "1", "share of telemetry refused or dropped on its way")
TRACED_SHARE = Signal("traced_share", "1", "traces per request that metrics counted at the same place")
CLOCK_SKEW = Signal("clock_skew", "s", "how much earlier than its client's call a serving span began")

SPEC_ACCEPTED = Signal("spec_accepted_tokens", "{token}/s", "drafted tokens that the model accepted, per second")
SPEC_DRAFTED = Signal("spec_drafted_tokens", "{token}/s", "tokens drafted for the model to check, per second")
SPEC_DRAFTS = Signal("spec_drafts", "{draft}/s", "drafts that the model checked, per second")
SPEC_ACCEPTANCE = Signal("spec_acceptance", "1", "share of drafted tokens that the model accepted")
SPEC_REJECTED = Signal("spec_rejected", "1", "share of drafted tokens that were drafted in vain")
SPEC_LENGTH = Signal("spec_accepted_length", "{token}", "tokens that one step with a draft brings")
CUDA_GRAPHED = Signal("cuda_graph_share", "1", "share of steps that replayed a captured CUDA graph")
STRUCTURED = Signal("structured_output", "1", "1 where the request demands a schema or grammar")
STRUCTURED_RATE = Signal("structured_requests", "{request}/s", "requests that demand a schema, per second")
RECEIVED_RATE = Signal("received_requests", "{request}/s", "requests whose parameters the engine logged, per second")
GRAMMAR_QUEUE = Signal("grammar_queue", "{request}", "requests that wait for their grammar to be compiled")
LOAD_IMBALANCE = Signal("load_imbalance", "1", "share of requests at replicas beyond an even split")
LEAST_LOAD = Signal("least_load", "{request}", "requests at the replica that has fewest of them")
ADAPTER_NEW = Signal("adapter_activation", "1", "1 where the request asked for a LoRA adapter that was not loaded yet")
ADAPTER_LOADING = Signal(
    "adapter_loading", "1", "1 where a LoRA adapter was loaded, for this request or another, while it was under way"
)
LONG_PREFILL_AHEAD = Signal(
    "long_prefill_ahead", "{token}", "largest prompt in prefill on arrival that is several times one's own, else 0"
)
SHORT_FIRST_TOKEN = Signal("short_prompt_time_to_first_token", "s", "arrival to first token, of the shorter prompts")
PROCESS_MEMORY = Signal("process_memory", "By", "memory resident in the host for the serving processes")

ALLOCATION_RETRIES = Signal(
    "allocation_retries", "{event}/s", "GPU allocations that failed until cached memory was given back, per second"
)

SM_ACTIVE = Signal("sm_active", "1", "share of cycles in which an SM had a warp, averaged over the GPU's SMs")
SM_OCCUPANCY = Signal("sm_occupancy", "1", "warps resident on the SMs over the most possible")
TENSOR_ACTIVE = Signal("tensor_active", "1", "share of cycles in which the tensor pipes were active")
DRAM_ACTIVE = Signal("dram_active", "1", "share of cycles in which the GPU's memory interface was active")
GPU_UTIL = Signal("gpu_util", "1", "share of time in which any kernel ran: says nothing of how full the GPU was")
GPU_MEMORY_USED = Signal("gpu_memory_used", "By", "GPU memory in use, without what the driver reserves")
GPU_MEMORY_TOTAL = Signal("gpu_memory_total", "By", "GPU memory, all of it")
GPU_MEMORY_SHARE = Signal("gpu_memory_share", "1", "GPU memory in use over what is not reserved by the driver")
GPU_POWER = Signal("gpu_power", "W", "power that the GPU board draws")
GPU_POWER_LIMIT = Signal("gpu_power_limit", "W", "power that the GPU board may draw")
GPU_POWER_SHARE = Signal("gpu_power_share", "1", "power drawn over the limit")
GPU_TEMPERATURE = Signal("gpu_temperature", "Cel", "temperature of the GPU")
GPU_SM_CLOCK = Signal("gpu_sm_clock", "MHz", "clock of the SMs")
GPU_MEMORY_CLOCK = Signal("gpu_mem_clock", "MHz", "clock of the GPU's memory")
GPU_THROTTLED = Signal("gpu_throttled", "1", "share of samples with clocks lowered by heat, hardware or power brake")
GPU_POWER_CAPPED = Signal("gpu_power_capped", "1", "share of samples with clocks lowered by the power limit")
GPU_PCIE_TX = Signal("pcie_tx", "By/s", "PCIe traffic from GPU to host")
GPU_PCIE_RX = Signal("pcie_rx", "By/s", "PCIe traffic from host to GPU")
NVLINK_TX = Signal("nvlink_tx", "By/s", "NVLink traffic sent")
NVLINK_RX = Signal("nvlink_rx", "By/s", "NVLink traffic received")
PCIE_LINK_WIDTH = Signal("pcie_link_width", "{lane}", "lanes that the GPU's PCIe link runs on now")
PCIE_REPLAYS = Signal("pcie_replays", "{event}/s", "PCIe packets sent again, per second")
NVLINK_ERRORS = Signal("nvlink_errors", "{error}/s", "NVLink CRC errors, replays and recoveries, per second")
GPU_ECC_UNCORRECTED = Signal("gpu_ecc_uncorrected", "{error}/s", "memory errors beyond correction, per second")
GPU_OTHER_MEMORY = Signal(
    "gpu_other_memory", "By", "memory of compute processes that are not the serving engine's; at least so much"
)
GPU_OTHER_SM = Signal("gpu_other_sm", "1", "SM share of compute processes that are not the serving engine's")

GATEWAY = Signal("ledger.gateway", "s", "in the entry service itself")
RETRY = Signal("ledger.retry", "s", "in attempts that were repeated, and between them")
POOL_WAIT = Signal("ledger.pool_wait", "s", "waiting for a pooled connection")
STORE_WAIT = Signal("ledger.store_wait", "s", "waiting for a connection to the store or another database")
DEPENDENCY = Signal("ledger.dependency", "s", "in calls of other services and databases: neither model nor retrieval")
RETRIEVAL = Signal("ledger.retrieval", "s", "in retrieval")
RERANK = Signal("ledger.rerank", "s", "in reranking")
QUEUE = Signal("ledger.queue", "s", "waiting in the engine's queue")
PREFILL = Signal("ledger.prefill", "s", "computing the prompt")
PREEMPTION = Signal("ledger.preemption", "s", "evicted from the batch")
DECODE = Signal("ledger.decode", "s", "generating tokens")
NETWORK = Signal("ledger.network", "s", "between client and server: connection, transfer, client runtime")
REMAINDER = Signal("ledger.remainder", "s", "not attributed")

SERVICE_TIME = Signal("service_time", "s", "in one service itself, without its calls, of a request that visits it")
SERVICE_LATENCY = Signal("service_latency", "s", "request to one of several services, as its own metric tells")
SERVICE_ERROR = Signal("service_error", "1", "share of the requests to a service that failed of the service itself")
SERVICE_LOGGED = Signal(
    "service_logged_error", "1", "share of the requests to a service of which it was the innermost to log an error"
)

LEDGER: tuple[Signal, ...] = (
    GATEWAY, RETRY, POOL_WAIT, STORE_WAIT, RETRIEVAL, RERANK, DEPENDENCY, QUEUE, PREFILL, PREEMPTION, DECODE, NETWORK,
    REMAINDER,
)  # fmt: skip
STATE: tuple[Signal, ...] = (
    RUNNING, WAITING, SWAPPED, PREEMPTIONS, KV_CACHE_USAGE, KV_PRESSURE, KV_CACHE_CAPACITY, HOST_CPU, CPU_THROTTLED,
    POOL_USED, POOL_MAX, POOL_SHARE, STORE_POOL_USED, STORE_POOL_MAX, STORE_POOL_SHARE, CACHED_SHARE, ARRIVAL_RATE,
    GENERATION_THROUGHPUT, PROMPT_THROUGHPUT,
    SPEC_REJECTED, LOAD_IMBALANCE, PROCESS_MEMORY, ALLOCATION_RETRIES,
)  # fmt: skip
"""The state of the system: measured over time, tied to requests by overlapping time."""
GPU: tuple[Signal, ...] = (
    SM_ACTIVE, SM_OCCUPANCY, TENSOR_ACTIVE, DRAM_ACTIVE, GPU_UTIL, GPU_MEMORY_USED, GPU_MEMORY_TOTAL, GPU_MEMORY_SHARE,
    GPU_POWER, GPU_POWER_LIMIT, GPU_POWER_SHARE, GPU_TEMPERATURE, GPU_SM_CLOCK, GPU_MEMORY_CLOCK, GPU_THROTTLED,
    GPU_POWER_CAPPED, GPU_PCIE_TX, GPU_PCIE_RX, NVLINK_TX, NVLINK_RX, PCIE_LINK_WIDTH, PCIE_REPLAYS, NVLINK_ERRORS,
    GPU_ECC_UNCORRECTED,
    GPU_OTHER_MEMORY, GPU_OTHER_SM,
)  # fmt: skip
"""The state of the GPUs that serve: tied to requests by host, pod or GPU and overlapping time."""
SIGNALS: dict[str, Signal] = {s.name: s for s in tuple(globals().values()) if isinstance(s, Signal)}


def part_name(signal: Signal) -> str:
    """`ledger.queue` → `queue`: the name used in output."""
    return signal.name.removeprefix("ledger.")


class Events:
    """Names of recognised happenings."""

    ENGINE_START = "engine_start"
    ENGINE_READY = "engine_ready"
    ENGINE_SHUTDOWN = "engine_shutdown"
    ENGINE_DEAD = "engine_dead"
    PREEMPTION = "preemption"
    OUT_OF_MEMORY = "out_of_memory"
    ALLOCATION_RETRIED = "allocation_retried"
    CONTEXT_OVERFLOW = "context_overflow"
    POOL_TIMEOUT = "pool_timeout"
    STORE_POOL_TIMEOUT = "store_pool_timeout"
    DIMENSION_MISMATCH = "dimension_mismatch"
    ANSWER_CUT = "answer_cut"
    SCHEMA_REFUSED = "schema_refused"
    CONNECTION_LOST = "connection_lost"
    KEEPALIVE_REFUSED = "keepalive_refused"
    RETRY = "retry"
    CUDA_GRAPH_CAPTURE = "cuda_graph_capture"
    DEPLOY = "deploy"
    COUNTER_RESET = "counter_reset"
    INSTANCE_START = "instance_start"
    XID = "xid"
    GPU_ECC_ERROR = "gpu_ecc_error"
    GPU_LOST = "gpu_lost"
    GPU_RESET_REQUIRED = "gpu_reset_required"
    NVSWITCH_ERROR = "nvswitch_error"
    PCIE_ERROR = "pcie_error"
    MACHINE_CHECK = "machine_check"
    KERNEL_STALL = "kernel_stall"
    CPU_THROTTLED = "cpu_throttled"
    LINK_DOWN = "link_down"
    OOM_KILL = "oom_kill"
    PROCESS_CRASH = "process_crash"
    NCCL_FAILURE = "nccl_failure"
    NCCL_FALLBACK = "nccl_fallback"
    SHARED_MEMORY_FAILURE = "shared_memory_failure"
    MODEL_LOAD_FAILURE = "model_load_failure"
    MODEL_UNLOAD = "model_unload"
    MEMORY_RELEASED = "memory_released"
    MEMORY_NOT_FREED = "memory_not_freed"
    KV_CACHE_FULL = "kv_cache_full"
    PROMPT_TRUNCATED = "prompt_truncated"
    SPECIAL_TOKENS_DOUBLED = "special_tokens_doubled"
    LORA_ACTIVATED = "lora_activated"
    DRIVER_MISMATCH = "driver_mismatch"
    OVERLOADED = "overloaded"
    PROBE_FAILED = "probe_failed"
    PROBE_RESTART = "probe_restart"
    CONTAINER_BACK_OFF = "container_back_off"
    CONTAINER_STARTED = "container_started"
    CONTAINER_KILLED = "container_killed"
    CONTAINER_FAILED = "container_failed"
    POD_EVICTED = "pod_evicted"
    SCHEDULING_FAILED = "scheduling_failed"
    IMAGE_PULL_FAILED = "image_pull_failed"
    MOUNT_FAILED = "mount_failed"
    NODE_NOT_READY = "node_not_ready"
    SCALED = "scaled"
    TELEMETRY_DROPPED = "telemetry_dropped"
    TELEMETRY_REFUSED = "telemetry_refused"
