"""Forwarding: what each answer of the other side means, and that a segment goes only when all of it is settled."""

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice
from pathlib import Path

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.forward import Forwarder
from collector.forwarding.own_address import is_own
from collector.settings import ForwardSettings
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from correlator.model.retrying import pauses, retry_after_s
from correlator.model.segments import QUARANTINE, QUARANTINE_BYTES, read_segment, segment_names
from tests.collector.collector_process import inside, request
from tests.collector.forwarding import (
    PATIENCE_S,
    PROTOBUF,
    TAKEN,
    Answer,
    Other,
    alone,
    filled,
    forwarded,
    forwarding,
    held_up,
    other,
    status_of,
    until,
)


@pytest.mark.parametrize("zipped", [True, False])
def test_everything_arrives_and_the_spool_is_empty(tmp_path: Path, zipped: bool) -> None:
    """Segments of each signal go to the path of their signal as the bytes they are, the oldest first."""
    filled(tmp_path, b"a", signal=Signal.TRACES)
    filled(tmp_path, b"b", signal=Signal.LOGS)
    filled(tmp_path, b"c", signal=Signal.METRICS)
    with other() as server:
        counts = forwarded(tmp_path, server, gzip=zipped).state().counts
    assert [("/v1/traces", b"a"), ("/v1/logs", b"b"), ("/v1/metrics", b"c")] == [r[:2] for r in server.requests]
    assert {("gzip" if zipped else None, PROTOBUF)} == {
        (headers.get("Content-Encoding"), headers["Content-Type"]) for _, _, headers in server.requests
    }
    assert (3, 3, 0) == (counts["segments"], counts["requests"], counts.get("retries", 0))


def test_many_requests_of_a_segment_arrive_once_each(tmp_path: Path) -> None:
    """Small ones are joined, large ones go alone, and what is under way together is neither lost nor doubled."""
    small, large = [request(number) for number in range(100)], [request(number, 600_000) for number in range(100, 110)]
    filled(tmp_path, *small[:50], *large, *small[50:])
    with other() as server:
        counts = forwarded(tmp_path, server).state().counts
    assert [f"{number}" for number in range(110)] == sorted((n for p in server.taken for n in inside(p)), key=int)
    assert (110, len(server.requests)) == (counts["requests"], counts["posts"])
    assert len(large) == len(server.requests)


def test_what_may_succeed_later_is_sent_again(tmp_path: Path) -> None:
    """An answer about overload, token or address loses nothing: the same request is sent until it is taken."""
    statuses = [401, 403, 404, 405, 408, 415, 429, 502, 503, 504, 307]
    filled(tmp_path, *(alone(status) for status in statuses))
    with other() as server:
        seen = server.requests
        server.answer = lambda payload: (
            (status_of(payload), b"", {}) if all(payload != p for _, p, _ in seen) else TAKEN
        )
        counts = forwarded(tmp_path, server).state().counts
    assert sorted(statuses) == sorted(map(status_of, server.taken))
    assert (11, 11) == (counts["retries"], counts["requests"])
    assert not (tmp_path / QUARANTINE).exists()


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_what_is_refused_for_good_is_kept_aside(tmp_path: Path, status: int) -> None:
    """Poison requests are found among those they were joined with, put into quarantine, and hold up nobody."""
    filled(tmp_path, *map(request, range(10)))
    with other() as server:
        server.answer = lambda payload: (status, b"", {}) if {"3", "7"} & set(inside(payload)) else TAKEN
        counts = forwarded(tmp_path, server).state().counts
    assert [*"01245689"] == sorted(name for payload in server.taken for name in inside(payload))
    (kept,) = (tmp_path / QUARANTINE).iterdir()
    assert (request(3), request(7)) == read_segment(kept).payloads
    assert (2, 0, 8) == (counts["quarantined_requests"], counts["discarded_requests"], counts["requests"])


def test_quarantine_has_an_end_which_is_counted(tmp_path: Path) -> None:
    """Without room in quarantine a refused request is discarded and counted so."""
    (tmp_path / QUARANTINE).mkdir()
    with (tmp_path / QUARANTINE / "earlier.segment").open("wb") as earlier:
        earlier.truncate(QUARANTINE_BYTES)
    filled(tmp_path, b"poison")
    with other((400, b"", {})) as server:
        counts = forwarded(tmp_path, server).state().counts
    assert (0, 1) == (counts["quarantined_requests"], counts["discarded_requests"])


def after_s(seconds: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("told", ["2", lambda: after_s(3)])
def test_the_other_side_says_when(tmp_path: Path, told: str | Callable[[], str]) -> None:
    """Retry-After, in seconds or as a date, is waited for."""
    filled(tmp_path, b"a")
    came: list[float] = []

    def answer(_: bytes) -> Answer:
        came.append(datetime.now(UTC).timestamp())
        return (503, b"", {"Retry-After": told if isinstance(told, str) else told()}) if len(came) == 1 else TAKEN

    with other() as server:
        server.answer = answer
        forwarded(tmp_path, server)
    assert 2.0 <= came[1] - came[0] < 5.0


@pytest.mark.parametrize("told", ["", "soon", "-5", "²", "99999999999999", "Mon, 99 Foo 2026 00:00:00 GMT", "past"])
def test_a_strange_retry_after_is_no_reason_to_wait(told: str) -> None:
    """What cannot be read, or lies in the past, counts as not said."""
    assert 0.0 == retry_after_s({"retry-after": after_s(-60) if told == "past" else told})


@pytest.mark.parametrize("told", ["999999999", "tomorrow", "Fri, 31 Dec 9999 23:59:59 -0000"])
def test_nobody_makes_us_wait_for_ever(told: str) -> None:
    """A very long Retry-After is cut."""
    assert 300.0 == retry_after_s({"retry-after": after_s(100_000) if told == "tomorrow" else told})


def test_pauses_double_up_to_eight_seconds() -> None:
    """Half a second first, 8 s at most, a tenth more or less by chance."""
    assert [0.5, 1.0, 2.0, 4.0, 8.0, 8.0] == list(islice(pauses(lambda: 0.5), 6))
    assert [0.45, 0.9] == list(islice(pauses(lambda: 0.0), 2))
    assert [0.55, 1.1] == list(islice(pauses(lambda: 1.0), 2))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((200, b"<html>", {"Content-Type": "text/html"}), "HTTP status 200 with text/html"),
        ((200, b"\xff\xff", {}), "no OTLP response"),
        ((503, Status(message="the spool\nis full").SerializeToString(), {}), "HTTP status 503: the spool is full"),
        ((503, b"x" * 5_000_000, {}), "HTTP status 503"),
        ((302, b"", {"Location": "http://elsewhere.invalid/"}), "HTTP status 302"),
    ],
)
def test_what_is_no_acknowledgement_is_not_taken_for_one(tmp_path: Path, answer: Answer, told: str) -> None:
    """Only an answer of OTLP counts; until it comes the segment stays, and the state says why."""
    filled(tmp_path, b"a")
    with other(always=answer) as server:
        assert told in held_up(tmp_path, server)


def test_records_that_the_other_side_rejects_are_counted(tmp_path: Path) -> None:
    """Partial success is an acknowledgement, and what it left out is counted."""
    filled(tmp_path, b"a")
    answer = ExportTraceServiceResponse(partial_success={"rejected_spans": 3, "error_message": "old"})
    with other((200, answer.SerializeToString(), {})) as server:
        assert 3 == forwarded(tmp_path, server).state().counts["rejected_records"]


def test_an_answer_that_does_not_come_has_an_end(tmp_path: Path) -> None:
    """After `timeout_s` the request is sent again."""
    filled(tmp_path, b"a")
    released = threading.Event()
    with other() as server:
        server.answer = lambda _: (released.wait(PATIENCE_S), TAKEN)[1]
        assert "no answer within 0.2 s" == held_up(tmp_path, server, timeout_s=0.2)
        released.set()
        forwarded(tmp_path, server)
    assert b"a" in server.taken


def test_a_damaged_segment_costs_what_is_damaged(tmp_path: Path) -> None:
    """Sound requests of it arrive, lost bytes are counted."""
    filled(tmp_path, b"first" * 100, b"second" * 100)
    (path,) = tmp_path.glob("*.ready")
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    with other() as server:
        counts = forwarded(tmp_path, server).state().counts
    assert ([b"second" * 100], 516) == (server.taken, counts["lost_bytes"])


def test_a_segment_that_cannot_be_read_holds_up_nobody(tmp_path: Path) -> None:
    """It stays where it is, is counted, and those behind it go."""
    filled(tmp_path, b"a")
    (path,) = tmp_path.glob("*.ready")
    filled(tmp_path, b"b")
    path.unlink()
    path.mkdir()

    async def main(server: Other) -> Forwarder:
        async with forwarding(tmp_path, server) as forwarder:
            await until(lambda: forwarder.state().counts.get("segments"))
        return forwarder

    with other() as server:
        counts = asyncio.run(main(server)).state().counts
    assert ([b"b"], 1, True) == (server.taken, counts["unreadable_segments"], path.exists())


def test_a_disk_that_refuses_does_not_send_a_segment_twice(tmp_path: Path) -> None:
    """While quarantine cannot be written the segment waits; when it can, the segment goes without being sent again."""
    filled(tmp_path, b"poison")
    (tmp_path / QUARANTINE).write_bytes(b"")

    async def main(server: Other) -> None:
        async with forwarding(tmp_path, server) as forwarder:
            await until(lambda: "cannot be written" in (forwarder.state().trouble or ""))
            (tmp_path / QUARANTINE).unlink()
            await until(lambda: not segment_names(tmp_path))

    with other(always=(400, b"", {})) as server:
        asyncio.run(main(server))
    assert 1 == len(server.requests)


def test_headers_are_sent_and_may_be_renewed(tmp_path: Path) -> None:
    """Lines of the file are headers, read anew for each request; ours cannot be replaced."""
    path = tmp_path / "headers"
    path.write_text("Authorization: Bearer old\n\nX-Scope-OrgID : \n".replace(" : ", ": a b"))
    filled(tmp_path / "spool", b"a")

    def answer(_: bytes) -> Answer:
        path.write_text("authorization:Bearer new\ncontent-type: text/plain\n")
        return (401, b"", {}) if not server.requests else TAKEN

    with other() as server:
        server.answer = answer
        forwarded(tmp_path / "spool", server, headers_file=path)
    assert ["Bearer old", "Bearer new"] == [
        {name.lower(): value for name, value in headers.items()}["authorization"] for _, _, headers in server.requests
    ]
    assert [PROTOBUF] * 2 == [headers["Content-Type"] for _, _, headers in server.requests]


@pytest.mark.parametrize("content", [b"s3cret", b"A: b\ns3cret\x00: a", b"A: \xe4s3cret", b"A b: s3cret", b"A: s3\x7f"])
def test_bad_headers_are_an_error_that_does_not_tell_them(tmp_path: Path, content: bytes) -> None:
    """The start ends with file and line, and without the content."""
    path = tmp_path / "headers"
    path.write_bytes(content)
    settings = ForwardSettings(endpoint="http://localhost:4318", headers_file=path)
    with pytest.raises(ConfigError, match=r"forward\.headers_file") as caught:
        Forwarder(tmp_path, settings)
    assert "s3" not in str(caught.value).replace(str(tmp_path), "")


def test_a_headers_file_that_is_gone_later_holds_up(tmp_path: Path) -> None:
    """Without its headers nothing is sent; the state says why."""
    path = tmp_path / "headers"
    path.write_text("A: b")
    filled(tmp_path / "spool", b"a")

    def answer(_: bytes) -> Answer:
        path.unlink()
        return 503, b"", {}

    async def main() -> None:
        async with forwarding(tmp_path / "spool", server, headers_file=path) as forwarder:
            await until(lambda: "headers_file" in (forwarder.state().trouble or ""))

    with other() as server:
        server.answer = answer
        asyncio.run(main())
    assert 1 == len(server.requests)


def test_trouble_is_told_once_and_its_end_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """However often a request is sent again, the log has one line when it begins and one when it ends."""
    caplog.set_level(logging.INFO, "collector.forward")
    filled(tmp_path, b"a", b"b", b"c")
    with other(*[(503, b"", {})] * 2) as server:
        forwarded(tmp_path, server)
    assert ["forwarding is held up: HTTP status 503", "forwarding goes on"] == caplog.messages


@pytest.mark.parametrize(
    ("endpoint", "host", "own"),
    [
        ("http://localhost:4318", "127.0.0.1", True),
        ("http://127.0.0.1:4317/prefix", "localhost", True),
        ("http://0.0.0.0:4318", "127.0.0.1", True),
        ("http://127.0.0.1:4318", "0.0.0.0", True),
        ("http://[::ffff:127.0.0.1]:4318", "127.0.0.1", True),
        ("http://127.0.0.5:4318", "0.0.0.0", True),
        ("http://127.0.0.1:4319", "127.0.0.1", False),
        ("http://127.0.0.1", "127.0.0.1", False),
        ("http://192.0.2.1:4318", "0.0.0.0", False),
        ("http://192.0.2.1:4318", "127.0.0.1", False),
        ("http://no-such-host.invalid:4318", "127.0.0.1", False),
    ],
)
def test_an_own_receiver_is_recognised(endpoint: str, host: str, own: bool) -> None:
    """By address and port, whatever the address is called; another machine's is not ours."""
    assert own is is_own(endpoint, host, (4317, 4318))
