"""How the C library treats freed memory: a receiver frees and asks for the same megabytes all the time."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory(limit_bytes: int = 64 << 20) -> bool:
    """Let this process keep up to `limit_bytes` of freed memory at hand. False where the C library cannot.

    Without it glibc gives the memory of each request back and the kernel clears it anew for the next: a third
    of the CPU of receiving.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, limit_bytes) and mallopt(_M_MMAP_THRESHOLD, min(limit_bytes, 32 << 20)))
