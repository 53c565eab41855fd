"""How the C library treats freed memory: a receiver frees and asks for the same megabytes all the time."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
RESIDENT_BYTES = 384 << 20
"""From here on freed memory is given back: five times what steady load takes, and what all bounds together allow."""


def keep_freed_memory(limit_bytes: int = 64 << 20) -> bool:
    """Let this process keep up to `limit_bytes` of freed memory at hand. False where the C library cannot.

    Without it glibc gives the memory of each request back and the kernel clears it anew for the next: a third
    of the CPU of receiving.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, limit_bytes) and mallopt(_M_MMAP_THRESHOLD, min(limit_bytes, 32 << 20)))


def give_back(limit_bytes: int = RESIDENT_BYTES) -> bool:
    """Give freed memory back to the system if this process holds more than that. False where it does not, or cannot.

    Large messages come in small pieces all over the heap; after a burst of them the C library keeps a gigabyte.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and _resident_bytes() > limit_bytes and bool(trim(0))


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
