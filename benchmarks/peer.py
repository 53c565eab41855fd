"""The OpenTelemetry Collector receiving the same load into its persistent queue: `python -m benchmarks.peer [SPANS]`.

It is built by Go, which takes minutes the first time. Each request is flushed to the queue's file before it is
acknowledged (`fsync: true`), as in our spool; nobody takes anything out of the queue. Ours is measured in the same run.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import grpc
import yaml

from benchmarks.generate import genai_trace_requests
from benchmarks.process import load
from benchmarks.receive import DIFFERENT, SPANS_PER_REQUEST, SPOOL, by_grpc, measured, row
from tests.counterparts.building import UnavailableError, build

READY_S = 30.0
RUNS = 3


def main(spans: int) -> None:
    """Print both, in turn."""
    try:
        program = build()
    except UnavailableError as error:
        print(f"no peer: {error}")
        return
    print(load())
    different = list(genai_trace_requests(DIFFERENT * SPANS_PER_REQUEST))
    requests = list(islice(cycle(different), max(spans // SPANS_PER_REQUEST, 1)))
    for _ in range(RUNS):
        wall_s, cpu_s = measured(by_grpc, requests, SPOOL)
        row("Tollens", spans, cpu_s, wall_s)
        wall_s, cpu_s = _measured(program, requests)
        row("OpenTelemetry Collector", spans, cpu_s, wall_s)
    print(load())


def _measured(program: Path, requests: list[bytes]) -> tuple[float, float]:
    with _running(program) as (port, pid):
        by_grpc(port, requests[:20])
        cpu_before, before = _cpu_s(pid), time.perf_counter()
        by_grpc(port, requests)
        return time.perf_counter() - before, _cpu_s(pid) - cpu_before


def _cpu_s(pid: int) -> float:
    """CPU-seconds that a process has used, all its threads."""
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _running(program: Path) -> Iterator[tuple[int, int]]:
    """Its port and process id."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="tollens-bench-") as folder:
        config, log = Path(folder, "config.yaml"), Path(folder, "log")
        config.write_text(yaml.safe_dump(_config(port, Path(folder))))
        with (
            log.open("w") as told,
            subprocess.Popen([program, "--config", config], stdout=told, stderr=told) as process,
        ):
            try:
                with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                    grpc.channel_ready_future(channel).result(READY_S)
                yield port, process.pid
            except grpc.FutureTimeoutError:
                raise SystemExit(f"the Collector did not get ready:\n{log.read_text()}") from None
            finally:
                process.kill()


def _config(port: int, folder: Path) -> dict[str, object]:
    queue = {"storage": "file_storage", "queue_size": 1_000_000, "num_consumers": 1}
    nobody = {
        "endpoint": "http://127.0.0.1:9",
        "sending_queue": queue,
        "retry_on_failure": {"initial_interval": "300s", "max_interval": "300s", "max_elapsed_time": "0s"},
    }
    receiver = {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}", "max_recv_msg_size_mib": 16}}}
    pipeline = {"receivers": ["otlp"], "exporters": ["otlp_http"]}
    return {
        "extensions": {"file_storage": {"directory": str(folder), "fsync": True}},
        "receivers": {"otlp": receiver},
        "exporters": {"otlp_http": nobody},
        "service": {
            "extensions": ["file_storage"],
            "pipelines": {"traces": pipeline},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
