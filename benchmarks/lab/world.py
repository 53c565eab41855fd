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
    version: str = "1.0.0"


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

    def with_(self, **changes: Any) -> Phase:
        """A copy with changes given as `load=dict(...)`, `engine=dict(...)`, `client=dict(...)` or plain values."""
        nested = {k: replace(getattr(self, k), **v) if isinstance(v, dict) else v for k, v in changes.items()}
        return replace(self, **nested)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Two phases and the truth. `also` are causes that would be right as well (a chain's other end)."""

    name: str
    truth: str
    baseline: Phase
    incident: Phase
    restart: bool = False
    also: tuple[str, ...] = ()
    symptom: str = "latency"
    busy: float | None = None
    """How busy other tenants keep the host, 0..1; None draws it."""
