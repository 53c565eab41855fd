"""A forwarder in this process, and the other side as a real HTTP server that answers as a test says."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from collector.forward import Forwarder
from collector.forwarding.segment import JOINED_BYTES
from collector.settings import ForwardSettings
from collector.spool import Spool
from correlator.model.records import Signal
from correlator.model.segments import segment_names
from tests.serving import served

PATIENCE_S = 20.0
PROTOBUF = "application/x-protobuf"
Answer = tuple[int, bytes, dict[str, str]]
TAKEN: Answer = (200, b"", {})


class Handler(BaseHTTPRequestHandler):
    """Keeps each request and answers as the test says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Other"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        payload = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        status, content, headers = self.server.asked(self.path, payload, dict(self.headers.items()))
        self.send_response(status)
        for name, value in ({"Content-Type": PROTOBUF, "Content-Length": f"{len(content)}"} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Other(ThreadingHTTPServer):
    """The other side: `answer` gives the answer to a payload; without one everything is taken."""

    daemon_threads = True

    def __init__(self, answer: Callable[[bytes], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.requests: list[tuple[str, bytes, dict[str, str]]] = []
        self.taken: list[bytes] = []

    def asked(self, path: str, payload: bytes, headers: dict[str, str]) -> Answer:
        answer = self.answer(payload)
        self.requests.append((path, payload, headers))
        if answer == TAKEN:
            self.taken.append(payload)
        return answer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests are about."""


@contextmanager
def other(*answers: Answer, always: Answer = TAKEN) -> Iterator[Other]:
    """The other side, which gives these answers first."""
    left = iter(answers)
    with Other(lambda payload: next(left, always)) as server, served(server):
        yield server


def filled(folder: Path, *payloads: bytes, signal: Signal = Signal.TRACES) -> Path:
    """A spool with one more sealed segment."""
    with Spool(folder) as spool:
        for future in [spool.put(signal, payload) for payload in payloads]:
            future.result(PATIENCE_S)
    return folder


@asynccontextmanager
async def forwarding(folder: Path, server: Other, **changes: Any) -> AsyncIterator[Forwarder]:
    """A forwarder at work; its jitter is the least there is."""
    endpoint = {"endpoint": f"http://127.0.0.1:{server.server_address[1]}"}
    forwarder = Forwarder(folder, ForwardSettings.model_validate(endpoint | changes), chance=lambda: 0.0)
    forwarder.start()
    try:
        yield forwarder
    finally:
        await forwarder.stop(0.0)


def alone(number: int) -> bytes:
    """A request that is too large to be joined with others, known by its number."""
    return b"%d " % number + bytes(JOINED_BYTES // 2)


def status_of(payload: bytes) -> int:
    return int(payload.split(b" ")[0])


async def until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(0.01)


def forwarded(folder: Path, server: Other, **changes: Any) -> Forwarder:
    """Forward until the spool is empty; the forwarder, stopped."""
    wanted = len(segment_names(folder))

    async def main() -> Forwarder:
        async with forwarding(folder, server, **changes) as forwarder:
            await until(lambda: forwarder.state().counts.get("segments") == wanted)
        assert ([], None) == (segment_names(folder), forwarder.state().trouble)
        return forwarder

    return asyncio.run(main())


def held_up(folder: Path, server: Other, **changes: Any) -> str:
    """Forward until there is trouble: what it is."""

    async def main() -> str:
        async with forwarding(folder, server, **changes) as forwarder:
            await until(lambda: forwarder.state().trouble)
            assert segment_names(folder)
            return f"{forwarder.state().trouble}"

    return asyncio.run(main())
