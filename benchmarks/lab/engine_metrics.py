"""The engine's `/metrics` page: the families of vLLM that a diagnosis may use, counted from the engine's own calls."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from benchmarks.lab.engine import Engine, Job
from benchmarks.lab.world import EngineConfig

LABELS = {"engine": "0", "model_name": "tiny-llama"}
TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
FIRST = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640)
BETWEEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
LONG = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
COUNTERS = (
    "num_preemptions", "prompt_tokens", "prompt_tokens_cached", "generation_tokens", "prefix_cache_queries",
    "prefix_cache_hits",
)  # fmt: skip
SPECULATION = ("drafts", "draft_tokens", "accepted_tokens")
GAUGES = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
HISTOGRAMS = {
    "request_prompt_tokens": TOKENS,
    "request_generation_tokens": TOKENS,
    "request_params_max_tokens": TOKENS,
    "request_prefill_kv_computed_tokens": TOKENS,
    "e2e_request_latency_seconds": LONG,
    "request_queue_time_seconds": LONG,
    "request_inference_time_seconds": LONG,
    "request_prefill_time_seconds": LONG,
    "request_decode_time_seconds": LONG,
    "time_to_first_token_seconds": FIRST,
    "inter_token_latency_seconds": BETWEEN,
    "request_time_per_output_token_seconds": BETWEEN,
}
FINISHED = ("stop", "length", "abort", "error", "repetition")


class EngineMetrics:
    """Books of one engine process; a restart begins new ones. It is the engine's `Watcher`."""

    def __init__(self, config: EngineConfig, start_unix_s: float) -> None:
        self.registry = CollectorRegistry()
        self._named: dict[str, MetricWrapperBase] = {}
        self._config_info(config)
        Gauge("process_start_time_seconds", "Start of the process.", registry=self.registry).set(start_unix_s)
        self._memory = Gauge("process_resident_memory_bytes", "Resident memory.", registry=self.registry)
        self.resident, self._leak = config.memory_bytes, config.leak_bytes
        self._loras = _loras(self.registry) if config.max_loras else None
        self.http = Counter(
            "http_requests", "Requests by method, status and handler.", ["handler", "method", "status"],
            registry=self.registry,
        )  # fmt: skip
        for name in (*COUNTERS, *(f"spec_decode_num_{name}" for name in SPECULATION if config.drafts)):
            self._counter(name)
        for name, buckets in HISTOGRAMS.items():
            self._histogram(name, buckets)
        for name in GAUGES:
            self._named[name] = Gauge(f"vllm:{name}", name, [*LABELS], registry=self.registry).labels(**LABELS)
        self.success = Counter(
            "vllm:request_success", "Requests ended.", [*LABELS, "finished_reason"], registry=self.registry
        )
        for reason in FINISHED:
            self.success.labels(**LABELS, finished_reason=reason)

    def admitted(self, job: Job) -> None:
        """Count what was asked of the prefix cache."""
        self._add("prefix_cache_queries", job.prompt)
        self._add("prefix_cache_hits", job.cached)

    def token(self, job: Job, seconds: float | None) -> None:
        """Count a token; the first brings the prompt's with it."""
        self._add("generation_tokens", 1)
        if seconds is not None:
            self._see("inter_token_latency_seconds", seconds)
            return
        self._add("prompt_tokens", job.prompt)
        self._add("prompt_tokens_cached", job.cached)
        self._see("time_to_first_token_seconds", job.last_token - job.arrived)

    def drafted(self, drafted: int, accepted: int) -> None:
        """Count a draft; what was accepted of it are generated tokens, though none of them was waited for."""
        for name, amount in zip(SPECULATION, (1, drafted, accepted), strict=True):
            self._add(f"spec_decode_num_{name}", amount)
        self._add("generation_tokens", accepted)

    def preempted(self, job: Job) -> None:
        """Count a preemption."""
        self._add("num_preemptions", 1)

    def ended(self, job: Job) -> None:
        """Book a finished request."""
        self.resident += self._leak
        if job.status == 499:
            self.success.labels(**LABELS, finished_reason="abort").inc()
            return
        family = f"{job.status // 100}xx"
        self.http.labels(handler="/v1/chat/completions", method="POST", status=family).inc()
        if job.status != 200 or job.first_token is None or job.scheduled is None:
            return
        reason = "length" if job.output >= job.max_tokens else "stop"
        self.success.labels(**LABELS, finished_reason=reason).inc()
        decode = job.last_token - job.first_token
        for name, value in (
            ("request_prompt_tokens", job.prompt),
            ("request_generation_tokens", job.generated),
            ("request_params_max_tokens", job.max_tokens),
            ("request_prefill_kv_computed_tokens", job.prompt - job.cached),
            ("e2e_request_latency_seconds", job.last_token - job.arrived),
            ("request_queue_time_seconds", job.scheduled - job.queued),
            ("request_inference_time_seconds", job.last_token - job.scheduled),
            ("request_prefill_time_seconds", job.first_token - job.scheduled),
            ("request_decode_time_seconds", decode),
            ("request_time_per_output_token_seconds", decode / max(job.generated - 1, 1)),
        ):
            self._see(name, value)

    def page(self, engine: Engine, unix_s: float) -> bytes:
        """The page as it stands at this Unix time."""
        self._memory.set(self.resident)
        if self._loras is not None:
            states = (_adapters(engine.running), _adapters(engine.waiting))
            self._loras.labels(str(engine.config.max_loras), *states).set(unix_s)
        for name, value in zip(GAUGES, (len(engine.running), len(engine.waiting), engine.usage), strict=True):
            gauge = self._named[name]
            assert isinstance(gauge, Gauge)
            gauge.set(value)
        lines = generate_latest(self.registry).splitlines(keepends=True)
        return b"".join(line for line in lines if b"_created" not in line)  # they hold this machine's time

    def _config_info(self, config: EngineConfig) -> None:
        info = {
            "block_size": config.block_size,
            "cache_dtype": "auto",
            "enable_prefix_caching": config.prefix_caching,
            "engine": 0,
            "gpu_memory_utilization": config.memory_share,
            "kv_cache_size_tokens": config.blocks * config.block_size,
            "num_gpu_blocks": config.blocks,
        }
        gauge = Gauge("vllm:cache_config_info", "Cache configuration.", [*info], registry=self.registry)
        gauge.labels(**{k: str(v) for k, v in info.items()}).set(1)

    def _counter(self, name: str) -> None:
        self._named[name] = Counter(f"vllm:{name}", name, [*LABELS], registry=self.registry).labels(**LABELS)

    def _histogram(self, name: str, buckets: tuple[float, ...]) -> None:
        made = Histogram(f"vllm:{name}", name, [*LABELS], registry=self.registry, buckets=buckets)
        self._named[name] = made.labels(**LABELS)

    def _add(self, name: str, amount: float) -> None:
        counter = self._named[name]
        assert isinstance(counter, Counter)
        counter.inc(amount)

    def _see(self, name: str, value: float) -> None:
        histogram = self._named[name]
        assert isinstance(histogram, Histogram)
        histogram.observe(value)


def _loras(registry: CollectorRegistry) -> Gauge:
    """An info metric whose value is the time of the state; earlier states stay on the page."""
    labels = ("max_lora", "running_lora_adapters", "waiting_lora_adapters")
    return Gauge("vllm:lora_requests_info", "Running stats on lora requests.", labels, registry=registry)


def _adapters(jobs: Iterable[Job]) -> str:
    return ",".join(dict.fromkeys(job.adapter for job in jobs if job.adapter))
