"""The engine's log in vLLM's form: a start-up block, a line of figures every ten seconds, access lines."""

from __future__ import annotations

import time

from benchmarks.lab.engine import Engine, Job
from benchmarks.lab.engine_metrics import EngineMetrics
from benchmarks.lab.world import EngineConfig

VERSION = "0.32.0"
STATUS = {200: "200 OK", 400: "400 Bad Request", 500: "500 Internal Server Error"}
GRAPHS = [1, 2, 4, *range(8, 129, 8)]
"""Batch sizes that CUDA graphs are captured for."""

ASKED, FREE = 700 * 2**20, 310 * 2**20


class EngineLog:
    """Lines in the order they were written; times of day are UTC."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.pid = 31417
        self._port = 37500
        self.device = "CPU"

    def started(self, config: EngineConfig, unix_s: float, ready_s: float, device: str) -> None:
        """What a start writes: flags, configuration, KV cache, readiness."""
        self.device = device
        api, core = self._begun(config, unix_s, ready_s)
        tokens = config.blocks * config.block_size
        self._add(
            core, unix_s + 0.9 * ready_s, "kv_cache_utils.py:2327",
            f"{device} KV cache size: {tokens:,} tokens, Maximum concurrency for {config.max_model_len:,} tokens "
            f"per request: {tokens / config.max_model_len:.2f}x",
        )  # fmt: skip
        if not config.eager:
            self._add(core, unix_s + 0.95 * ready_s, "gpu_model_runner.py:5117", "Graph capturing finished in 3 secs")
        self._add(api, unix_s + ready_s, "entry.py:140", "Starting vLLM server on http://127.0.0.1:8100")
        self.lines += [f"INFO:     Started server process [{self.pid}]", "INFO:     Application startup complete."]

    def broken(self, config: EngineConfig, unix_s: float, took_s: float) -> None:
        """What a start writes that ends with a weight file which was cut short."""
        api, core = self._begun(config, unix_s, took_s)
        text = "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
        for line in ("EngineCore failed to start.", "Traceback (most recent call last):", text):
            self._add(core, unix_s + took_s, "core.py:1165", line, "ERROR")
        self.lines.append(f"({api}) RuntimeError: Engine core initialization failed. See root cause above.")

    def died(self, reason: str, unix_s: float) -> None:
        """What is written of an engine that ended by itself; of one that was killed only its parent tells."""
        api, core = f"APIServer pid={self.pid}", f"EngineCore pid={self.pid + 60}"
        for line in ("EngineCore encountered a fatal error.", reason) if reason else ():
            self._add(core, unix_s, "core.py:1174", line, "ERROR")
        self._add(api, unix_s, "core_client.py:686", "Engine core proc EngineCore_DP0 died unexpectedly.", "ERROR")

    def _begun(self, config: EngineConfig, unix_s: float, ready_s: float) -> tuple[str, str]:
        """The first lines of a start; the names of its two processes."""
        self.pid += 411
        api, core = f"APIServer pid={self.pid}", f"EngineCore pid={self.pid + 60}"
        args = {
            "model_tag": config.model, "host": "127.0.0.1", "port": 8100, "model": config.model, "dtype": "float32",
            "max_model_len": config.max_model_len, **({"enforce_eager": True} if config.eager else {}),
            "served_model_name": ["tiny-llama"], "num_gpu_blocks_override": config.blocks, **config.flags,
        }  # fmt: skip
        drafts = f"SpeculativeConfig(model='./draft', num_spec_tokens={config.drafts})" if config.drafts else None
        graphs = "" if config.eager else f", compilation_config={{'cudagraph_capture_sizes': {GRAPHS}}}"
        self._add(api, unix_s, "api_utils.py:347", f"  █▄█▀ █   █  █   █  version {VERSION}")
        self._add(api, unix_s, "api_utils.py:286", f"non-default args: {args}")
        self._add(api, unix_s + 0.2, "model.py:2152", f"Using max model len {config.max_model_len}")
        self._add(
            core, unix_s + 0.4 * ready_s, "core.py:133",
            f"Initializing a V1 LLM engine (v{VERSION}) with config: model={config.model!r}, "
            f"speculative_config={drafts}, dtype=torch.float32, max_seq_len={config.max_model_len}, "
            f"tensor_parallel_size=1, quantization={config.flags.get('quantization')}, enforce_eager={config.eager}, "
            f"served_model_name=tiny-llama, enable_prefix_caching={config.prefix_caching}{graphs}",
        )  # fmt: skip
        return api, core

    def stopped(self, unix_s: float) -> None:
        """What an ordered stop writes."""
        self._add(f"APIServer pid={self.pid}", unix_s, "launcher.py:254", "[shutdown] API server: shutdown triggered")
        self.lines += ["INFO:     Shutting down", "INFO:     Application shutdown complete."]

    def access(self, method: str, path: str, status: int) -> None:
        """A request that was answered; one that was given up leaves no line."""
        if status in STATUS:
            self._port += 2
            self.lines.append(f'INFO:     127.0.0.1:{self._port} - "{method} {path} HTTP/1.1" {STATUS[status]}')

    def figures(self, engine: Engine, seen: tuple[float, float], hit_rate: float, unix_s: float) -> None:
        """The line of figures; `seen` are prompt and generated tokens a second."""
        self._add(
            f"APIServer pid={self.pid}", unix_s, "loggers.py:335",
            f"Engine 000: Avg prompt throughput: {seen[0]:.1f} tokens/s, Avg generation throughput: {seen[1]:.1f} "
            f"tokens/s, Running: {len(engine.running)} reqs, Waiting: {len(engine.waiting)} reqs, "
            f"{self.device} KV cache usage: {100 * engine.usage:.1f}%, Prefix cache hit rate: {100 * hit_rate:.1f}%",
        )  # fmt: skip

    def repeated(self, unix_s: float) -> None:
        """What PyTorch warns of when an allocation fails for the first time."""
        stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(unix_s))
        self.lines.append(
            f"[rank0]:[W{stamp}.{int(unix_s % 1 * 1e9):09d} CUDACachingAllocator.cpp:3933] memory allocation failed "
            f"with OOM on device 0 while trying to allocate {ASKED} bytes (free: {FREE}, total: 85899345920)."
        )

    def speculation(self, counts: tuple[int, int, int], seconds: float, unix_s: float) -> None:
        """The line of figures of speculative decoding; `counts` are drafts, drafted and accepted tokens."""
        drafts, drafted, accepted = counts
        self._add(
            f"APIServer pid={self.pid}", unix_s, "metrics.py:101",
            f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, Accepted throughput: "
            f"{accepted / seconds:.2f} tokens/s, Drafted throughput: {drafted / seconds:.2f} tokens/s, Accepted: "
            f"{accepted} tokens, Drafted: {drafted} tokens, Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%",
        )  # fmt: skip

    def _add(self, process: str, unix_s: float, where: str, text: str, level: str = "INFO") -> None:
        stamp = time.strftime("%m-%d %H:%M:%S", time.gmtime(unix_s))
        self.lines.append(f"({process}) {level} {stamp} [{where}] {text}")


class Books:
    """The engine's watcher: metrics page, access lines and the rates the line of figures needs."""

    def __init__(self, config: EngineConfig, log: EngineLog, start_unix_s: float, ready_unix_s: float) -> None:
        self.metrics = EngineMetrics(config, start_unix_s)
        self.log = log
        self._ready_unix_s = ready_unix_s
        self._prompt = self._generated = 0
        self._asked = self._hit = 0
        self._drafts = (0, 0, 0)

    def admitted(self, job: Job) -> None:
        """See `Watcher`."""
        self._asked += job.prompt
        self._hit += job.cached
        self.metrics.admitted(job)

    def token(self, job: Job, seconds: float | None) -> None:
        """See `Watcher`."""
        self._generated += 1
        self._prompt += job.prompt if seconds is None else 0
        self.metrics.token(job, seconds)

    def drafted(self, drafted: int, accepted: int) -> None:
        """See `Watcher`."""
        self._generated += accepted
        drafts, so_far, kept = self._drafts
        self._drafts = (drafts + 1, so_far + drafted, kept + accepted)
        self.metrics.drafted(drafted, accepted)

    def preempted(self, job: Job) -> None:
        """See `Watcher`."""
        self.metrics.preempted(job)

    def retried(self, since_ready_s: float) -> None:
        """See `Watcher`."""
        self.log.repeated(self._ready_unix_s + since_ready_s)

    def ended(self, job: Job) -> None:
        """See `Watcher`."""
        self.log.access("POST", "/v1/chat/completions", job.status)
        self.metrics.ended(job)

    def figures(self, engine: Engine, seconds: float, unix_s: float) -> None:
        """Write the line of figures for the last stretch, unless nothing happened in it."""
        if self._generated or engine.running or engine.waiting:
            rates = (self._prompt / seconds, self._generated / seconds)
            self.log.figures(engine, rates, self._hit / max(self._asked, 1), unix_s)
        if self._drafts[0]:
            self.log.speculation(self._drafts, seconds, unix_s)
        self._prompt = self._generated = 0
        self._drafts = (0, 0, 0)
