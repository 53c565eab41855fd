"""Both receivers on loopback ports, in an asyncio loop of their own, with a sink that a test can steer."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from collector.otlp_grpc import GrpcServer, serve_grpc
from collector.otlp_http import serve_http
from collector.receiving.http_server import HttpServer
from collector.receiving.intake import Intake
from collector.receiving.settings import ReceiverSettings
from correlator.model.records import Signal

PATIENCE_S = 20.0


def kept_at_once(signal: Signal, payload: bytes) -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


@dataclass
class Kept:
    """Remembers what it is given; `put_as` decides about the future, or raises."""

    put_as: Callable[[Signal, bytes], Future[None]] = kept_at_once
    requests: list[tuple[Signal, bytes]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        future = self.put_as(signal, payload)
        with self.changed:
            self.requests.append((signal, payload))
            self.changed.notify_all()
        return future

    def payloads(self, signal: Signal) -> list[bytes]:
        return [payload for kind, payload in self.requests if kind is signal]

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, PATIENCE_S), "the request never came"


@dataclass
class Receiver:
    """Both servers at work."""

    sink: Kept
    registry: CollectorRegistry
    intake: Intake
    grpc: GrpcServer
    http: HttpServer
    loop: asyncio.AbstractEventLoop

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE_S)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"tollens_receiver_{name}", labels) or 0.0

    def refused(self, protocol: str, signal: str, reason: str) -> float:
        return self.count("refused_total", protocol=protocol, signal=signal, reason=reason)

    def url(self, path: str, scheme: str = "http") -> str:
        return f"{scheme}://localhost:{self.http.port}{path}"

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.http.port), PATIENCE_S)


@contextmanager
def receiver(sink: Kept | None = None, **changes: Any) -> Iterator[Receiver]:
    """Both receivers with these settings, stopped at the end."""
    kept, registry = sink or Kept(), CollectorRegistry()
    settings = ReceiverSettings.model_validate({"grpc_port": 0, "http_port": 0} | changes)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    started: list[GrpcServer | HttpServer] = []

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(PATIENCE_S)

    try:
        intake = Intake(kept, settings, registry)
        grpc_server = run(serve_grpc(intake, settings))
        started.append(grpc_server)
        http_server = run(serve_http(intake, settings))
        started.append(http_server)
        yield Receiver(kept, registry, intake, grpc_server, http_server, loop)
    finally:
        for server in started:
            run(server.stop(1.0))
        run(loop.shutdown_default_executor())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()
