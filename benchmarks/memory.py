"""How much memory a service takes, idle and while loading: `python -m benchmarks.memory [SPANS_PER_S [SECONDS]]`.

Resident memory (RSS) counts what processes share in each of them; PSS counts it once, so PSS can be added up. Peaks
are the largest of samples taken five times a second, over all processes at the same time.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.process import load
from benchmarks.send import sender
from benchmarks.service import Service, running

IDLE_S = 10.0
IDLE_LIMIT_MIB, LOADING_LIMIT_MIB = 600, 1536
EVERY_S = 0.2

Memory = Mapping[str, tuple[float, float]]
"""By process: RSS and PSS in MiB."""


def main(spans_per_s: int = 50_000, seconds: float = 30) -> None:
    """Print both."""
    print(load())
    with (
        tempfile.TemporaryDirectory(prefix="tollens-bench-") as folder,
        running(Path(folder), {"collector": {"gpu": {"nvml": False}}}) as service,
    ):
        _print("idle", _most(service, lambda: time.sleep(IDLE_S)), IDLE_LIMIT_MIB)
        with sender(service.ports["otlp_grpc_port"], spans_per_s, seconds) as sending:
            sending.begin()
            most = _most(service, sending.sent)
        _print(f"while loading {spans_per_s:,} spans/s", most, LOADING_LIMIT_MIB)
    print(load())


def _most(service: Service, meanwhile: Callable[[], object]) -> Memory:
    """The sample with the largest sum while something is done."""
    pids = {"supervisor": service.process.pid} | service.parts()
    samples: list[Memory] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            samples.append({name: _of(pid) for name, pid in pids.items()})
            over.wait(EVERY_S)

    thread = threading.Thread(target=look)
    thread.start()
    meanwhile()
    over.set()
    thread.join()
    return max(samples, key=lambda sample: sum(pss for _, pss in sample.values()))


def _of(pid: int) -> tuple[float, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kib = {name.rstrip(":"): int(value) for name, value, *_ in map(str.split, lines)}
    return kib["Rss"] / 1024, kib["Pss"] / 1024


def _print(title: str, memory: Memory, limit_mib: int) -> None:
    print(f"\n{title:34} {'RSS':>8} {'PSS':>8} MiB, limit {limit_mib}")
    for name, (rss, pss) in [*memory.items(), ("together", tuple(map(sum, zip(*memory.values(), strict=True))))]:
        print(f"{name:34} {rss:8.0f} {pss:8.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
