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
    "tollens.allocation_retried": (
        "memory allocation failed with OOM on device",
        "pytorch allocator cache flushes since last step",
    ),
    "tollens.special_tokens_doubled": (
        "the final prompt starts with 2 BOS tokens",
        "the final prompt ends with 2 EOS tokens",
        "Detected duplicate leading … in prompt",
    ),
    "tollens.prompt_truncated": ("longer than the KV cache pool size or the max context length. Truncated",),
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
        "Timed out waiting for a connection from the pool",
        "Timeout acquiring a connection",
        "Connection pool timed out",
        "Timeout waiting for connection from pool",
    ),
    "tollens.store_pool_timeout": (
        "QueuePool limit",
        "connection pool exhausted",
        "couldn't get a connection after",
        "Connection is not available, request timed out",
        "Too many connections",
        "remaining connection slots",
    ),
    "tollens.dimension_mismatch": (
        "Vector dimension error",
        "dimension mismatch",
        "dimensions do not match",
        "dimension … does not match",
        "expected … dimensions, not",
        "elements cannot be divided by",
        "Embedding dim mismatch",
        "Vector count mismatch … from embedding result",
        "different vector dimensions",
        "vector dimension … mismatch",
        "Embedding dimension … does not match collection dimensionality",
    ),
    "tollens.answer_cut": (
        "Unterminated string starting at",
        "Unexpected end of JSON input",
        "EOF while parsing",
        "LengthFinishReasonError",
        "length limit was reached",
    ),
    "tollens.schema_refused": (
        "validation error for",
        "validation errors for",
        "extra_forbidden",
        "Extra inputs are not permitted",
        "ResponseValidationError",
    ),
    "tollens.keepalive_refused": (
        "too_many_pings",
        "too many pings",
        "ENHANCE_YOUR_CALM",
        "keepalive ping failed to receive ACK",
    ),
    "tollens.connection_lost": (
        "Connection reset by peer",
        "ECONNRESET",
        "socket hang up",
        "RemoteDisconnected",
        "Server disconnected without sending a response",
        "transport is closing",
        "upstream prematurely closed connection",
        "received prior goaway",
    ),
    "tollens.memory_released": ("Error in memory profiling",),
    "tollens.gpu_ecc_error": ("uncorrectable ECC error encountered",),
    "tollens.gpu_lost": ("GPU has fallen off the bus", "GPU is lost"),
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
        "MetadataIncompleteBuffer",
        "invalid load key",
        "PytorchStreamReader failed",
        "does not appear to have a file named",
        "is not a local folder and is not a valid model identifier",
        "Failed to load model",
        "Model architectures … are not supported",
        "Model architectures … failed to be inspected",
        "Cannot find any model weights",
        "has model type … does not recognize this architecture",
        "Error no file named … found in directory",
    ),
    "tollens.driver_mismatch": (
        "Error 802: system not yet initialized",
        "Error 803: system has unsupported display driver",
        "Error 804: forward compatibility was attempted",
        "CUDA driver version is insufficient for CUDA runtime version",
        "The NVIDIA driver on your system is too old",
        "no kernel image is available for execution on the device",
        "CUDA error: the provided PTX was compiled with an unsupported toolchain",
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
        "LiteLLM Retried:",
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

_CLIENTS = frozenset(
    f"tollens.{name}"
    for name in (
        "pool_timeout", "store_pool_timeout", "dimension_mismatch", "answer_cut", "schema_refused",
        "keepalive_refused", "connection_lost", "retry",
    )
)  # fmt: skip
APPLICATION = _CLIENTS | {
    "tollens.context_overflow", "tollens.out_of_memory", "tollens.allocation_retried", "tollens.special_tokens_doubled",
    "tollens.prompt_truncated",
}  # fmt: skip
ENGINE = frozenset(PHRASES) - _CLIENTS


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
