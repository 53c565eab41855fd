"""How many spans a second the receivers acknowledge, beside what merely parsing the same bytes costs.

    python -m benchmarks.receive [spans]

The receivers run in a process of their own; they put the requests nowhere, or into a spool on disk, each durable
before it is acknowledged. The figures that count are per CPU-second of that process, all its threads; the clients'
work is not in them.
"""

from __future__ import annotations

import asyncio
import http.client
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client import CollectorRegistry

from benchmarks.generate import genai_trace_requests
from collector.heap import keep_freed_memory
from collector.otlp_grpc import SERVICES, serve_grpc
from collector.otlp_http import serve_http
from collector.receiving.intake import Intake
from collector.receiving.settings import ReceiverSettings
from collector.sink import Sink
from collector.spool import Spool
from correlator.model.records import Signal

SPANS_PER_REQUEST = 1000
DIFFERENT = 50
"""Requests that differ from one another; they are sent again and again."""
AT_A_TIME = 8
NOWHERE, SPOOL = "nowhere", "spool"

Send = Callable[[int, list[bytes]], None]


def main(spans: int) -> None:
    """Print the figures for `spans` spans sent by each protocol."""
    different = list(genai_trace_requests(DIFFERENT * SPANS_PER_REQUEST))
    requests = list(islice(cycle(different), max(spans // SPANS_PER_REQUEST, 1)))
    sent = len(requests) * SPANS_PER_REQUEST
    keep_freed_memory()
    row("parse only (upb)", sent, _parse(requests), None)
    for name, send in (("OTLP/gRPC", by_grpc), ("OTLP/HTTP", _by_http)):
        for where in (NOWHERE, SPOOL):
            wall_s, cpu_s = measured(send, requests, where)
            row(f"{name} to {where}", sent, cpu_s, wall_s)


def row(name: str, spans: int, cpu_s: float, wall_s: float | None) -> None:
    """Print one figure."""
    wall = "" if wall_s is None else f"{spans / wall_s:10,.0f} spans/s on the clock"
    print(f"{name:20s}{spans / cpu_s:10,.0f} spans per CPU-second  {cpu_s / spans * 1e6:5.2f} CPU-s a million  {wall}")


def _parse(requests: list[bytes]) -> float:
    before = time.process_time()
    for request in requests:
        ExportTraceServiceRequest.FromString(request)
    return time.process_time() - before


def measured(send: Send, requests: list[bytes], where: str) -> tuple[float, float]:
    """(seconds on the clock, CPU-seconds of the receiving process)."""
    with _receiving(where) as (ports, cpu_s):
        port = ports[send is _by_http]
        send(port, requests[:20])
        cpu_before, before = cpu_s(), time.perf_counter()
        send(port, requests)
        return time.perf_counter() - before, cpu_s() - cpu_before


def by_grpc(port: int, requests: list[bytes]) -> None:
    """Send them, some at a time; RpcError when one is refused."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export: Any = channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export")
        waiting: deque[Any] = deque()
        for request in requests:
            waiting.append(export.future(request))
            if len(waiting) == AT_A_TIME:
                waiting.popleft().result()
        for call in waiting:
            call.result()


def _by_http(port: int, requests: list[bytes]) -> None:
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        for _ in threads.map(lambda part: _post(port, part), [requests[n::AT_A_TIME] for n in range(AT_A_TIME)]):
            pass


def _post(port: int, requests: list[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for request in requests:
        connection.request("POST", "/v1/traces", request, {"Content-Type": "application/x-protobuf"})
        with connection.getresponse() as response:
            if response.status != 200:
                raise SystemExit(f"refused: {response.status} {response.read()!r}")
            response.read()
    connection.close()


@contextmanager
def _receiving(where: str) -> Iterator[tuple[list[int], Callable[[], float]]]:
    command = [sys.executable, "-m", "benchmarks.receive", "--serve", where]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    asked, answered = child.stdin, child.stdout

    def cpu_s() -> float:
        asked.write("\n")
        asked.flush()
        return float(answered.readline())

    with child:
        yield [int(port) for port in answered.readline().split()], cpu_s
        asked.close()


class _Nowhere:
    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        kept: Future[None] = Future()
        kept.set_result(None)
        return kept


async def _serve(sink: Sink) -> None:
    """Receive until standard input ends; answer each line of it with the CPU-seconds used so far."""
    keep_freed_memory()
    settings = ReceiverSettings(grpc_port=0, http_port=0)
    intake = Intake(sink, settings, CollectorRegistry())
    over_grpc, over_http = await serve_grpc(intake, settings), await serve_http(intake, settings)
    print(over_grpc.port, over_http.port, flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        print(usage.ru_utime + usage.ru_stime, flush=True)
    await over_grpc.stop(0)
    await over_http.stop(0)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        with tempfile.TemporaryDirectory(prefix="tollens-bench-") as folder:
            if sys.argv[-1] == NOWHERE:
                asyncio.run(_serve(_Nowhere()))
            else:
                with Spool(Path(folder)) as spool:
                    asyncio.run(_serve(spool))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
