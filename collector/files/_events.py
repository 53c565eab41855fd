"""Which lines of a log tell of something a cause may be made of. The phrases are data, declared once.

A phrase is compared without spaces and without case, so a line broken by a terminal still matches; `…` is a
gap of at most 200 characters. The first event with a matching phrase wins: the root before its wreckage.
"""

from __future__ import annotations

from collections.abc import Collection

GAP = 200
_LONGEST = 16_384  # characters looked at: enough for any traceback, bounded for any paste

PHRASES: dict[str, tuple[str, ...]] = {
    "tollens.out_of_memory": (
        "CUDA out of memory",
        "CUDA error: out of memory",
        "HIP out of memory",
        "OutOfMemoryError",
        "No available memory for the cache blocks",
        "Free memory on device … less than desired",
        "CUBLAS_STATUS_ALLOC_FAILED",
    ),
    "tollens.context_overflow": (
        "maximum context length",
        "context_length_exceeded",
        "ContextWindowExceeded",
        "prompt is too long",
        "exceeds the context window",
        "exceeds the model's maximum context",
        "longer than the maximum model length",
        "Input prompt ( … is too long",
        "max seq len ( … larger than the",
        "exceed context window",
        "exceeds the available context size",
        "longer than the model's context length",
        "input token count … exceeds the maximum number of tokens",
        "`inputs` tokens + `max_new_tokens` must be",
    ),
    "tollens.pool_timeout": (
        "PoolTimeout",
        "QueuePool limit",
        "Timed out waiting for a connection from the pool",
        "Timeout acquiring a connection",
        "connection pool exhausted",
        "Connection pool timed out",
        "couldn't get a connection after",
        "Timeout waiting for connection from pool",
        "Connection is not available, request timed out",
    ),
    "tollens.nccl_failure": (
        "NCCL error",
        "ncclUnhandledCudaError",
        "ncclSystemError",
        "ncclInternalError",
        "ncclRemoteError",
        "Watchdog caught collective operation timeout",
    ),
    "tollens.model_load_failure": (
        "SafetensorError",
        "does not appear to have a file named",
        "is not a local folder and is not a valid model identifier",
        "Failed to load model",
        "Model architectures … are not supported",
        "Model architectures … failed to be inspected",
        "Cannot find any model weights",
        "has model type … does not recognize this architecture",
        "Error no file named … found in directory",
    ),
    "tollens.engine_dead": (
        "EngineCore encountered a fatal error",
        "EngineDeadError",
        "Background loop is stopped",
        "Background loop has errored already",
        "died unexpectedly",
        "Engine core initialization failed",
        "EngineCore failed to start",
        "Engine loop is not running",
    ),
    "tollens.preemption": ("is preempted by",),
    "tollens.retry": (
        "Retrying request",
        "Retrying in",
        "Retrying (Retry(",
        "Retrying … as it raised",
        "Retrying … 429",
        "Retrying … 503",
        "429 … retrying",
        "503 … retrying",
        "429 … will retry",
        "503 … will retry",
        "429 … retry in",
        "503 … retry in",
    ),
}

APPLICATION = frozenset({"tollens.context_overflow", "tollens.pool_timeout", "tollens.retry", "tollens.out_of_memory"})
ENGINE = frozenset(PHRASES) - {"tollens.pool_timeout", "tollens.retry"}


def squeezed(text: str) -> str:
    """The text as phrases are compared: lower case, no white space."""
    return "".join(text[:_LONGEST].split()).lower()


def _parts(phrase: str) -> tuple[str, str]:
    first, _, second = phrase.partition("…")
    return squeezed(first), squeezed(second)


_PARTS = tuple((event, *_parts(phrase)) for event, phrases in PHRASES.items() for phrase in phrases)


def recognise(text: str, events: Collection[str]) -> str | None:
    """The first of `events` with a phrase in `text`, which is `squeezed` already."""
    for event, first, second in _PARTS:
        if first in text and event in events and (not second or _follows(text, first, second)):
            return event
    return None


def _follows(text: str, first: str, second: str) -> bool:
    at = text.find(first)
    while at >= 0:
        after = at + len(first)
        if text.find(second, after, after + GAP) >= 0:
            return True
        at = text.find(first, after)
    return False
