"""One command in a process of its own: how long, how much CPU, how much memory.

Whoever measures stays small: a child's peak memory counts from that of its parent, from which it was made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """What a process took: seconds on the clock, seconds of CPU in user mode, peak resident memory."""

    wall_s: float
    user_s: float
    peak_bytes: int
    output: str


def run(*arguments: str) -> Run:
    """`python -m arguments`, measured; raises SystemExit with what it said when it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-m", *arguments], stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise SystemExit(f"{' '.join(arguments)}: exit code {child.returncode}\n{err.read().decode()}")
        return Run(wall, usage.ru_utime, usage.ru_maxrss * _MAXRSS_UNIT, out.read().decode())


def load() -> str:
    """How busy the machine is, in words to print beside figures."""
    averages = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    return f"load average {averages} (1, 5, 15 minutes) on {os.cpu_count()} cores; 0 is idle, higher is slower"


def quantity(values: Sequence[float]) -> str:
    """Lowest, median and highest."""
    ordered = sorted(values)
    return f"{ordered[0]:.2f} / {ordered[len(ordered) // 2]:.2f} / {ordered[-1]:.2f}"


_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
