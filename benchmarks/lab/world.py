"""What a simulated world is made of, and two phases of it: the baseline and the incident.

The defaults are the recorded captures' own figures (one CPU engine with a small model, three requests a second).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Load:
    """What users ask for. Token counts are medians of log-normal draws; rates are per second."""

    rate: float = 2.9
    prompt: float = 350.0
    prompt_spread: float = 0.22
    output: float = 19.0
    output_spread: float = 0.25
    max_tokens: int | None = None
    """A fixed limit above what answers need; None: each answer runs to its own limit, as recorded."""
    prefix: int = 0
    """Tokens at the head of every prompt that are the same for all."""
    unique_prefix: bool = False
    """Something unique stands before the prefix, so that nothing of it can be reused."""
    long_share: float = 0.0
    """Share of requests with a long history of `long_prompt` tokens instead."""
    long_prompt: float = 1400.0
    schema_share: float = 0.0
    """Share of requests that demand a JSON schema."""
    adapters: int = 0
    """LoRA adapters that requests ask for, each as often as the others; 0: the model itself."""
    guessable: float = 0.75
    """Mean chance that the model would have said what the draft guessed, token by token."""
    template_tokens: int = 0
    """Tokens that the chat template adds to each prompt, beyond what it added all along."""
    prompt_limit: int | None = None
    """Tokens to which prompts are silently cut; None: they are not."""
    malformed: float = 0.0
    """Share of requests with a field that the engine does not know, and refuses."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine's flags and costs; seconds of one iteration = base + seq · sequences + token · prompt tokens."""

    model: str = "./model"
    base_s: float = 5.6e-3
    seq_s: float = 0.3e-3
    token_s: float = 5.4e-5
    slowdown: float = 1.0
    max_num_seqs: int = 128
    max_num_batched_tokens: int = 2048
    max_model_len: int = 2048
    blocks: int = 8192
    block_size: int = 128
    prefix_caching: bool = True
    warm_up_factor: float = 0.0
    """How many times slower, beyond 1, the first moment after the start is; fades with `warm_up_s`."""
    warm_up_s: float = 12.0
    knee: int | None = None
    """Sequences beyond which each further one costs `beyond_s` instead of `seq_s`; None: there is no such point."""
    beyond_s: float = 0.0
    eager: bool = True
    """Without CUDA graphs, as the recorded CPU engine runs."""
    host_s: float = 0.0
    """Time in a step in which a GPU waits for the host, to launch kernels for instance."""
    drafts: int = 0
    """Tokens guessed in each step of speculative decoding; 0: it is off."""
    mask_s: float = 4e-3
    """CPU time in a step for each sequence whose tokens a grammar masks."""
    max_loras: int = 0
    lora_load_s: float = 0.6
    """Time to read an adapter from disk into a slot; the step waits for it."""
    memory_bytes: float = 6.6e8
    """Resident memory after the start."""
    leak_bytes: float = 0.0
    """Kept of each request, for ever."""
    memory_limit: float | None = None
    """Resident memory from which the kernel kills the process; None: there is enough."""
    memory_share: float = 0.92
    """Share of the GPU's memory that the engine takes (gpu_memory_utilization)."""
    broken_weights: bool = False
    """A weight file is cut short: the start-up ends with it."""
    flags: dict[str, Any] = field(default_factory=dict)
    """What the start-up line names besides the usual flags."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The RAG service: its connections, time-outs and retries, its retrieval, its version."""

    pool: int | None = None
    timeout_s: float = 60.0
    retries: int = 0
    hidden_retries: bool = False
    """Retried inside one client span (as an SDK does) rather than span by span."""
    retrieval_s: float = 0.0
    """Mean of an exponential delay on top of the millisecond a search takes."""
    empty_share: float = 0.0
    documents: int = 4
    profile_s: float = 0.0
    """Median time of the profile service that each request asks first; 0: there is none."""
    profile_errors: float = 0.0
    rerank_s: float = 0.0
    """Median time of reranking; 0: there is none."""
    rerank_cached: float = 0.4
    store_pool: int | None = None
    """Connections to the store; None: as many as are asked for."""
    store_held_s: float = 0.02
    """Median time from taking a connection to the store to giving it back."""
    version: str = "1.0.0"
    replicas: int = 1
    """Engines behind the service; as many in both phases."""
    sticky: float = 0.0
    """Share of calls that all go to the first replica; the rest go evenly to all."""
    idle_limit_s: float | None = None
    """Silence after which something in between has dropped the connection; None: nobody does."""
    streamed: bool = False
    """Answers are streamed, and the client tells when the first of it came."""
    buffered: bool = False
    """A proxy lets nothing of a streamed answer through before its end."""
    embedding: str = ""
    """Model that embeds queries; "": that is not traced."""
    score: float = 0.0
    """Mean mark (0..1) that an evaluator gives an answer; 0: there is no evaluator."""
    cut_score: float = 0.35
    """The mark of an answer to a prompt that was cut."""
    nearness: float = 0.78
    """Mean cosine of a query with the best document that is found."""


@dataclass(frozen=True, slots=True)
class GpuConfig:
    """The GPU that the engine computes on, as DCGM sees it."""

    clock: float = 1.0
    """SM clock as a share of its maximum."""
    reasons: int = 0
    """Bits of DCGM_FI_DEV_CLOCKS_EVENT_REASONS."""
    celsius: float = 58.0
    others: float = 0.0
    """Share of the SMs that another process keeps busy."""
    others_bytes: float = 0.0
    retry_share: float = 0.0
    """Share of steps with a prefill whose memory is found only after the allocator gave back what it held."""
    retry_s: float = 0.0
    """How long that takes."""
    xid: int = 0
    """A fault of this code, 10 s after the phase began and every 50 s from then, ends the engine; 0: none."""

    @property
    def slowness(self) -> float:
        """How many times longer a step takes than on a cool GPU of one's own."""
        return 1 / (self.clock * (1 - self.others))


@dataclass(frozen=True, slots=True)
class Phase:
    """The world during one window."""

    load: Load = Load()
    engine: EngineConfig = EngineConfig()
    client: ClientConfig = ClientConfig()
    contention: float = 0.0
    """0 none, 1 ten busy processes on the client's cores."""
    speed: float = 1.0
    """Machine time per unit of work; 1.2 is a machine 20 % slower."""
    gpu: GpuConfig | None = None
    """None: the engine computes on CPUs, as recorded, and nobody measures a GPU."""

    def with_(self, **changes: Any) -> Phase:
        """A copy with changes given as `load=dict(...)`, `engine=dict(...)`, `client=dict(...)` or plain values."""
        nested = {k: replace(getattr(self, k), **v) if isinstance(v, dict) else v for k, v in changes.items()}
        return replace(self, **nested)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Two phases and the truth. `also` are causes that would be right as well (a chain's other end).

    `truths` are all causes at work where two are at once.
    """

    name: str
    truth: str
    baseline: Phase
    incident: Phase
    restart: bool = False
    also: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()
    symptom: str = "latency"
    window_s: float = 74.0
    """Length of each phase; the recordings' own unless something takes longer to show."""
    busy: float | None = None
    """How busy other tenants keep the host, 0..1; None draws it."""


CALM = Phase()


def scenario(name: str, before: Phase, after: Phase, truth: str = "", **more: Any) -> Scenario:
    """A scenario whose cause has its name, unless another `truth` is given; `more` are further fields of it."""
    return Scenario(name=name, truth=truth or name, baseline=before, incident=after, **more)
