"""HTTP/2 clients that mean harm, frame by frame: each is bounded, and others are served meanwhile."""

import itertools
import os
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

import grpc
import pytest

from collector.otlp_grpc import SERVICES
from correlator.model.records import Signal
from tests.collector.receiving import PATIENCE_S, Receiver, receiver
from tests.collector.telemetry import SOUND

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PATH = f"/{SERVICES[Signal.TRACES]}/Export"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4
SENT_AT_MOST = 4 << 20
STALLED_S = 1.0


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def literal(name: str, value: str) -> bytes:
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


CALL = b"".join(
    literal(*pair)
    for pair in (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", PATH),
        (":authority", "x"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
    )
)
STREAMS = range(1, 1 << 31, 2)


def reset_at_once() -> Iterator[bytes]:
    """Calls opened and reset in the same breath."""
    for stream in STREAMS:
        yield frame(HEADERS, END_HEADERS, stream, CALL) + frame(RST_STREAM, 0, stream, bytes(4))


def never_ending_headers() -> Iterator[bytes]:
    """Headers that go on and on."""
    yield frame(HEADERS, 0, 1, CALL)
    yield from itertools.repeat(frame(CONTINUATION, 0, 1, literal("x", "y" * 100) * 50))


def pings() -> Iterator[bytes]:
    """Nothing but pings."""
    yield from itertools.repeat(frame(PING, 0, 0, bytes(8)) * 100)


def settings() -> Iterator[bytes]:
    """Settings, changed back and forth."""
    yield from itertools.repeat(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)) * 100)


@pytest.fixture
def running() -> Iterator[Receiver]:
    with receiver(limits={"header_s": 0.2}) as started:
        yield started


def served(running: Receiver) -> bool:
    with grpc.insecure_channel(f"localhost:{running.grpc.port}") as channel:
        return channel.unary_unary(PATH)(SOUND[Signal.TRACES], timeout=PATIENCE_S) == b""


def flood(connection: socket.socket, frames: Iterator[bytes]) -> None:
    """Send frames until the server cuts us off or stops to read, or we have sent all that we are willing to."""
    connection.setblocking(False)
    sent, pending = 0, PREFACE + frame(SETTINGS, 0, 0)
    able = select.poll()  # not select(): descriptors of a long test run go beyond 1024
    able.register(connection, select.POLLIN | select.POLLOUT)
    with suppress(OSError):
        while sent < SENT_AT_MOST:
            events = sum(found for _, found in able.poll(STALLED_S * 1000))
            if not events:
                return
            if events & ~select.POLLOUT and connection.recv(1 << 16) == b"":
                return
            if events & select.POLLOUT:
                written = connection.send(pending)
                sent, pending = sent + written, pending[written:] or next(frames)


def memory_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("frames", [reset_at_once, never_ending_headers, pings, settings])
def test_a_flood_is_bounded(running: Receiver, frames: type) -> None:
    """However much is sent, memory stays and a decent client is served."""
    assert served(running)
    before = memory_bytes()
    with socket.create_connection(("127.0.0.1", running.grpc.port), PATIENCE_S) as connection:
        flood(connection, frames())
        assert memory_bytes() - before < 128 << 20
        assert served(running)
    assert (0, 0) == (running.count("in_flight_requests"), running.count("in_flight_bytes"))


@pytest.mark.parametrize("sent", [b"", PREFACE[:5], b"GET / HTTP/1.1\r\n\r\n"])
def test_a_connection_that_never_becomes_http2_is_cut_off(running: Receiver, sent: bytes) -> None:
    """A client that stays silent, or speaks something else, does not stay."""
    with socket.create_connection(("127.0.0.1", running.grpc.port), PATIENCE_S) as connection:
        connection.sendall(sent)
        while connection.recv(4096):
            pass


def test_a_call_that_sends_its_message_slowly_is_given_up() -> None:
    """A length announced and bytes that do not follow cost one place for a short time only."""
    with receiver(limits={"body_s": 0.1}) as running:
        with socket.create_connection(("127.0.0.1", running.grpc.port), PATIENCE_S) as connection:
            start = frame(HEADERS, END_HEADERS, 1, CALL) + frame(DATA, 0, 1, b"\x00" + struct.pack(">I", 1000) + b"abc")
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + start)
            answer = b""
            while b"grpc-status" not in answer:
                answer += connection.recv(4096)
        assert 1 == running.refused("grpc", "traces", "slow")


def test_streams_of_one_connection_are_limited() -> None:
    """Streams beyond the limit of a connection are not let in, however many are opened."""
    opened = b"".join(frame(HEADERS, END_HEADERS, stream, CALL) for stream in range(1, 41, 2))
    with (
        receiver(limits={"streams": 3}) as running,
        socket.create_connection(("127.0.0.1", running.grpc.port), PATIENCE_S) as connection,
    ):
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + opened + frame(PING, 0, 0, b"received"))
        answer = b""
        while b"received" not in answer:
            answer += connection.recv(4096)
        assert served(running)
        assert running.count("in_flight_requests") <= 3


def test_an_encoding_that_grpc_does_not_know_is_counted() -> None:
    """gRPC itself answers a message in zstd with INTERNAL; that it was not taken can be seen on `/metrics`."""
    with receiver() as running:
        with socket.create_connection(("127.0.0.1", running.grpc.port), PATIENCE_S) as connection:
            start = frame(HEADERS, END_HEADERS, 1, CALL + literal("grpc-encoding", "zstd"))
            message = frame(DATA, END_STREAM, 1, b"\x01" + struct.pack(">I", 4) + b"\x28\xb5\x2f\xfd")
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + start + message)
            answer = b""
            while b"grpc-status" not in answer:
                answer += connection.recv(4096)
        assert b"grpc-status\x0213" in answer
        assert served(running)
        assert 1 == running.refused("grpc", "traces", "cut_off")
        assert [SOUND[Signal.TRACES]] == running.sink.payloads(Signal.TRACES)
