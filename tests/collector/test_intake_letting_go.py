"""A request that was refused is let go of at once, not when the garbage collector comes round: it may be megabytes."""

import ctypes
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import grpc
import httpx
import pytest

from collector.otlp_grpc import SERVICES
from collector.sink import Full
from correlator.model.records import Signal
from tests.collector.receiving import PATIENCE_S, Kept, Receiver, receiver
from tests.collector.telemetry import SOUND

TRACES = SOUND[Signal.TRACES]
OURS = 2
"""References to what a list holds: the list's, and that of the question itself."""


@pytest.fixture
def no_garbage_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


class Refusing(Kept):
    """Keeps nothing but what it was `given`, and refuses that at once, or later with an error of this kind."""

    def __init__(self, later: type[Exception] | None) -> None:
        super().__init__()
        self.given: list[bytes] = []
        self._later = later

    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        self.given.append(payload)
        if self._later is None:
            raise Full("the disk")
        future: Future[None] = Future()
        future.set_exception(self._later("gone"))
        return future


def by_grpc(running: Receiver) -> None:
    with grpc.insecure_channel(f"localhost:{running.grpc.port}") as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export")(TRACES, timeout=PATIENCE_S)


def by_http(running: Receiver) -> None:
    headers = {"Content-Type": "application/x-protobuf"}
    assert 503 == httpx.post(running.url("/v1/traces"), content=TRACES, headers=headers).status_code


@pytest.mark.parametrize("send", [by_grpc, by_http])
@pytest.mark.parametrize("later", [None, Full, OSError])
def test_nothing_holds_what_was_refused(
    no_garbage_collector: None, send: Callable[[Receiver], None], later: type[Exception] | None
) -> None:
    """Neither the traceback of the refusal nor the future that failed, whichever way the sink refuses."""
    sink = Refusing(later)
    with receiver(sink) as running:
        send(running)
        end = time.monotonic() + PATIENCE_S
        while sys.getrefcount(sink.given[0]) > OURS:
            assert time.monotonic() < end, "the request is still held"


PROGRAM = """
import sys
from collector.heap import give_back, _resident_bytes
before = _resident_bytes()
pieces = [bytes(4000) for _ in range(50_000)]
kept = pieces[::1000]
del pieces
assert not give_back(limit_bytes=1 << 40)
held = _resident_bytes()
assert give_back(limit_bytes=1)
print(held - before, _resident_bytes() - before)
"""


def test_freed_memory_is_given_back_beyond_a_limit() -> None:
    """Pieces that are left here and there keep the C library from giving back what lies between them by itself."""
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("the C library cannot give back freed memory")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, timeout=60, check=True)
    held, left = map(int, done.stdout.split())
    assert left < held / 4
