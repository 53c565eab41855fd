"""Clients that want too much, over raw sockets: too slow, too long, too many, gone."""

import gzip
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from correlator.model.records import Signal
from tests.collector.receiving import PATIENCE_S, Kept, Receiver, receiver
from tests.collector.telemetry import SOUND, span, spans

TRACES = SOUND[Signal.TRACES]
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
QUICK = {"header_s": 0.1, "body_s": 0.1, "idle_s": 0.1}


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    with connection.makefile("rb") as stream:
        return stream.read()


def posted(body: bytes, *headers: bytes) -> bytes:
    return HEAD + b"".join(line + b"\r\n" for line in headers) + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def test_a_silent_client_is_cut_off() -> None:
    """A client that connects and says nothing does not stay."""
    with receiver(limits=QUICK) as running, running.raw() as connection:
        assert b"" == answer(connection)


@pytest.mark.parametrize("sent", [b"POST /v1", HEAD])
def test_headers_that_do_not_come_end_the_connection(sent: bytes) -> None:
    """A client that never ends its headers gets 503, is counted and cut off."""
    with receiver(limits=QUICK) as running, running.raw() as connection:
        connection.sendall(sent)
        assert answer(connection).startswith(b"HTTP/1.1 503")
        assert 1 == running.refused("http", "none", "slow")


def test_a_trickle_of_headers_ends_the_connection() -> None:
    """A byte now and then does not keep a connection open."""
    with receiver(limits=QUICK) as running, running.raw() as connection:
        connection.settimeout(0.02)
        ended = False
        for _ in range(1000):
            try:
                connection.sendall(b"X")
                ended = connection.recv(4096) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True
            if ended:
                break
        assert ended


def test_an_idle_connection_is_closed() -> None:
    """After an answer a connection is kept for a while only."""
    with receiver(limits=QUICK) as running, running.raw() as connection:
        connection.sendall(posted(TRACES))
        assert answer(connection).startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_come_is_given_up() -> None:
    """A body that stays out gets what OTLP senders try again, is counted, and keeps no place."""
    with receiver(limits=QUICK) as running, running.raw() as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\nabc")
        answered = connection.recv(4096)
        assert (b"HTTP/1.1 503", True) == (answered[:12], b"\r\nRetry-After: 1\r\n" in answered)
        assert 1 == running.refused("http", "traces", "slow")
        assert (0, 0) == (running.count("in_flight_requests"), running.count("in_flight_bytes"))


@pytest.mark.parametrize("line", [b"X: " + b"y" * 40_000, b"X: y\r\n" * 10_000])
def test_long_headers_are_refused(line: bytes) -> None:
    """Headers beyond the limit get 431, be it one or many."""
    with receiver() as running, running.raw() as connection:
        connection.sendall(HEAD + line)
        assert answer(connection).startswith(b"HTTP/1.1 431")
        assert 1 == running.refused("http", "none", "long_headers")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        HEAD + b"Content-Length: x\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(sent: bytes) -> None:
    """Another protocol, or headers that contradict one another, get an error and an end, never 500 or silence."""
    with receiver() as running, running.raw() as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        status = answer(connection)[:12]
        assert status in (b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 501")


def test_bad_chunks_are_refused() -> None:
    """A chunked body with a length that is no number is malformed."""
    with receiver() as running, running.raw() as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert b"HTTP/1.1 400" == connection.recv(12)
        assert 1 == running.refused("http", "traces", "malformed")


def test_a_body_cut_off_is_not_kept() -> None:
    """A client that leaves in the middle of its body has sent nothing."""
    with receiver() as running:
        with running.raw() as connection:
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(TRACES) + 1, TRACES))
            connection.shutdown(socket.SHUT_WR)
            assert b"HTTP/1.1 400" == connection.recv(12)
        assert [] == running.sink.requests
        assert 1 == running.refused("http", "traces", "cut_off")


def test_a_body_whose_client_resets_the_connection_counts_as_cut_off() -> None:
    """No answer is possible, and what was begun is not counted as taken."""
    with receiver() as running:
        with running.raw() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(HEAD + b"Content-Length: 100\r\n\r\nabc")
            _until(lambda: running.count("in_flight_requests") == 1)
        _until(lambda: running.refused("http", "traces", "cut_off") == 1)
        assert 0 == running.count("in_flight_requests")


def _until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < end, "it never came to that"


def test_expect_100_continue_is_answered_before_the_body() -> None:
    """A client that asks first is told to go on, or is refused before it sends anything."""
    with receiver(limits={"message_bytes": 1000}) as running:
        with running.raw() as connection:
            head, _, body = posted(TRACES, b"Expect: 100-continue", b"Connection: close").partition(b"\r\n\r\n")
            connection.sendall(head + b"\r\n\r\n")
            assert b"HTTP/1.1 100" == connection.recv(12)
            connection.sendall(body)
            assert b"HTTP/1.1 200" in answer(connection)
        with running.raw() as connection:
            connection.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n")
            assert answer(connection).startswith(b"HTTP/1.1 413")


def test_a_declared_giant_is_refused_unread() -> None:
    """4 GiB announced are refused at once, and reckoned with nowhere."""
    with receiver() as running, running.raw() as connection:
        connection.sendall(HEAD + b"Content-Length: 4294967296\r\n\r\n")
        assert b"HTTP/1.1 413" == connection.recv(12)
        assert 1 == running.refused("http", "traces", "too_large")


def test_connections_beyond_the_limit_are_turned_away() -> None:
    """One connection more than allowed is closed and counted; those before it live on."""
    with receiver(limits={"connections": 2}) as running, running.raw() as first, running.raw() as second:
        for connection in (first, second):
            _alive(connection)
        assert 2 == running.count("connections")
        with running.raw() as third:
            assert b"" == third.recv(1)
        _alive(first)
        assert 1 == running.refused("http", "none", "too_many_connections")


def _alive(connection: socket.socket) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"HTTP/1.1 200" == connection.recv(4096)[:12]


@pytest.mark.parametrize("limits", [{"requests": 1}, {"bytes_in_flight": len(TRACES) + 10}])
def test_more_than_fits_at_a_time_gets_429(limits: dict[str, int]) -> None:
    """Beyond the limit of requests, or of their bytes, a request is refused while the others wait on."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink, limits=limits) as running, running.raw() as first, running.raw() as second:
        first.sendall(posted(TRACES))
        sink.wait_for(1)
        second.sendall(posted(TRACES))
        refused = second.recv(4096)
        assert (b"HTTP/1.1 429", True) == (refused[:12], b"\r\nRetry-After: 1\r\n" in refused)
        assert 1 == running.refused("http", "traces", "busy")
        future.set_result(None)
        assert b"HTTP/1.1 200" == first.recv(12)


def test_a_decompressed_body_counts_as_held() -> None:
    """The limit of bytes in flight is for what a body becomes, too."""
    body = gzip.compress(spans(*[span(name="x" * 100)] * 100))
    with receiver(limits={"bytes_in_flight": 10 * len(body)}) as running, running.raw() as connection:
        connection.sendall(posted(body, b"Content-Encoding: gzip"))
        assert b"HTTP/1.1 429" == connection.recv(12)
        assert 0 == running.count("in_flight_bytes")


def test_stopping_lets_requests_in_flight_end() -> None:
    """Idle connections are closed at once; one whose request waits for the sink still gets its answer."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink) as running, running.raw() as idle, running.raw() as waiting:
        _alive(idle)
        waiting.sendall(posted(TRACES))
        sink.wait_for(1)
        stopped = threading.Thread(target=lambda: running.run(running.http.stop(PATIENCE_S)))
        stopped.start()
        assert b"" == answer(idle)
        future.set_result(None)
        assert answer(waiting).startswith(b"HTTP/1.1 200")
        stopped.join(PATIENCE_S)
        assert not stopped.is_alive()


def test_stopping_does_not_wait_for_ever() -> None:
    """After the time of grace requests in flight are cut off."""
    sink = Kept(lambda *_: Future())
    with receiver(sink) as running, running.raw() as waiting:
        waiting.sendall(posted(TRACES))
        sink.wait_for(1)
        running.run(running.http.stop(0.05))
        assert b"" == answer(waiting)


def test_a_client_that_does_not_wait_disturbs_nobody() -> None:
    """Who closes before the answer leaves nothing behind; the request is kept all the same."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink) as running:
        with running.raw() as gone:
            gone.sendall(posted(TRACES))
            sink.wait_for(1)
        future.set_result(None)
        with running.raw() as connection:
            _alive(connection)
        assert [TRACES] == running.sink.payloads(Signal.TRACES)


@pytest.mark.parametrize("sound", [True, False])
def test_a_hundred_thousand_resources(running_wide: Receiver, sound: bool) -> None:
    """A request of 10⁵ resources is taken, or screened, like any other."""
    one = spans(span()) if sound else spans(span(trace_id=b""))
    with running_wide.raw() as connection:
        connection.sendall(posted(one * 100_000, b"Connection: close"))
        assert answer(connection).startswith(b"HTTP/1.1 200")


def test_a_million_attribute_keys(running_wide: Receiver) -> None:
    """A span of 10⁶ attributes is bounded by the size of its request alone."""
    attributes = [{"key": f"{number:x}"} for number in range(1_000_000)]
    body = spans(span(attributes=attributes))
    assert len(body) < 16 << 20
    with running_wide.raw() as connection:
        connection.sendall(posted(body, b"Connection: close"))
        assert answer(connection).startswith(b"HTTP/1.1 200")
        assert body == running_wide.sink.payloads(Signal.TRACES)[-1]


@pytest.fixture
def running_wide() -> Iterator[Receiver]:
    with receiver() as started:
        yield started
