"""Sends OTLP requests at a steady rate, in a process of its own: `python -m benchmarks.send PORT SPANS_PER_S SECONDS`.

Requests are made beforehand, with times from then on. It says the id of the first trace, begins when it is sent a line,
and says at the end how many spans were acknowledged, how many refusals it met and in how many seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.generate import SPANS_PER_TRACE, genai_trace_requests
from collector.otlp_grpc import SERVICES
from correlator.model.records import Signal

PER_REQUEST = 1000
AT_A_TIME = 16
"""Requests under way; who is slower than the rate is not sent more."""
AGAIN_S = 0.2
RETRIED = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Sent:
    """Spans that were acknowledged, refusals, and seconds on the clock."""

    spans: int
    refusals: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sender:
    """A sender that has its requests ready."""

    first_trace: str
    process: subprocess.Popen[str]

    def begin(self) -> None:
        """Let it send."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def sent(self) -> Sent:
        """Wait until all is sent."""
        assert self.process.stdout is not None
        return Sent(**json.loads(self.process.stdout.readline()))


@contextmanager
def sender(port: int, spans_per_s: int, seconds: float) -> Iterator[Sender]:
    """A sender to the OTLP/gRPC port of this machine, killed when it is left."""
    command = [sys.executable, "-m", "benchmarks.send", str(port), str(spans_per_s), str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Sender(json.loads(process.stdout.readline()), process)
        finally:
            process.kill()


def main(port: int, spans_per_s: int, seconds: float) -> None:
    """Make the requests, wait for a line, send them."""
    every_ns = int(1e9 * SPANS_PER_TRACE / spans_per_s)
    spans = int(spans_per_s * seconds)
    requests = list(genai_trace_requests(spans, PER_REQUEST, start_ns=time.time_ns(), trace_every_ns=every_ns))
    first = ExportTraceServiceRequest.FromString(requests[0])
    print(json.dumps(first.resource_spans[0].scope_spans[0].spans[0].trace_id.hex()), flush=True)
    sys.stdin.readline()
    print(json.dumps(asdict(_send(port, requests, PER_REQUEST / spans_per_s))), flush=True)


def _send(port: int, requests: Sequence[bytes], every_s: float) -> Sent:
    refusals, began = 0, time.monotonic()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        export: Any = channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export")
        waiting: deque[tuple[bytes, Any]] = deque()
        for number, request in enumerate(requests):
            time.sleep(max(0.0, began + number * every_s - time.monotonic()))
            waiting.append((request, export.future(request)))
            while waiting and (len(waiting) >= AT_A_TIME or waiting[0][1].done()):
                refusals += _settled(export, *waiting.popleft())
        refusals += sum(_settled(export, *call) for call in waiting)
    return Sent(len(requests) * PER_REQUEST, refusals, time.monotonic() - began)


def _settled(export: Any, request: bytes, call: Any) -> int:
    """Wait for an acknowledgement, sending again while it is refused: how often it was."""
    refusals = 0
    while call.exception() is not None:
        if call.code() not in RETRIED:
            raise call.exception()
        refusals += 1
        time.sleep(AGAIN_S)
        call = export.future(request)
    return refusals


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
