"""How many spans a second are acknowledged into the spool, each request durable on disk before it is.

    python -m benchmarks.spool [spans]

Per CPU-second of the whole process, senders included, so that a busy machine disturbs little. Beside it what merely
writing the same bytes to a file and flushing that once costs, the least that any spool could.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.generate import genai_trace_requests
from benchmarks.process import load
from collector.spool import Spool
from correlator.model.records import Signal

PER_REQUEST = 1000
SENDERS = 8
"""Requests under way at a time."""

KEPT_REQUESTS = 100
"""So many different requests are sent over and over: making them is not what is measured."""


def main(spans: int) -> None:
    """Print the figures for `spans` spans."""
    print(load())
    made = list(genai_trace_requests(KEPT_REQUESTS * PER_REQUEST, PER_REQUEST))
    requests = [made[number % len(made)] for number in range(spans // PER_REQUEST)]
    with tempfile.TemporaryDirectory() as folder:
        _print("plain file", spans, *_measured(_write_plainly, Path(folder) / "plain", requests))
        flushes, cost = _measured_spool(Path(folder) / "spool", requests)
        _print("acknowledged", spans, *cost)
        print(f"requests per flush {len(requests) / flushes:10.1f}")


def _measured_spool(folder: Path, requests: Sequence[bytes]) -> tuple[int, tuple[float, float]]:
    with Spool(folder) as spool:
        cost = _measured(_send, spool, requests)
        return spool.state().fsyncs, cost


def _send(spool: Spool, requests: Sequence[bytes]) -> None:
    with ThreadPoolExecutor(SENDERS) as senders:
        for kept in senders.map(lambda request: spool.put(Signal.TRACES, request).result(), requests):
            assert kept is None


def _write_plainly(path: Path, requests: Sequence[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(requests)
        file.flush()
        os.fsync(file.fileno())


def _measured(action: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Seconds of CPU, all threads, and on the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    action(*arguments)
    return time.process_time() - cpu, time.perf_counter() - wall


def _print(what: str, spans: int, cpu: float, wall: float) -> None:
    print(
        f"{what:18} {spans / cpu:10,.0f} spans per CPU-second, {cpu / spans * 1e6:.2f} CPU-seconds per million spans, "
        f"{spans / wall:,.0f} spans per second"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
