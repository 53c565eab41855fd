"""OTLP/gRPC as a client sees it."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.otlp_grpc import SERVICES
from collector.sink import Full
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from tests.collector.receiving import PATIENCE_S, Kept, Receiver, receiver
from tests.collector.telemetry import RECORDS, SOUND, span, spans

EXHAUSTED, INVALID = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT
LIMIT = 1 << 20


def opened(running: Receiver) -> grpc.Channel:
    return grpc.insecure_channel(f"localhost:{running.grpc.port}")


def export(channel: grpc.Channel, signal: Signal = Signal.TRACES) -> Any:
    return channel.unary_unary(f"/{SERVICES[signal]}/Export")


def refused(channel: grpc.Channel, payload: bytes, **how: object) -> tuple[grpc.StatusCode, int | None]:
    """(code, seconds after which to try again) of a call that is refused."""
    with pytest.raises(grpc.RpcError) as raised:
        export(channel)(payload, timeout=PATIENCE_S, **how)
    for key, value in raised.value.trailing_metadata():
        if key == "grpc-status-details-bin":
            info = RetryInfo()
            if any(detail.Unpack(info) for detail in Status.FromString(value).details):
                return raised.value.code(), info.retry_delay.seconds
    return raised.value.code(), None


@pytest.fixture(scope="module")
def running() -> Iterator[Receiver]:
    with receiver(limits={"message_bytes": LIMIT, "header_bytes": 4096}) as started:
        yield started


@pytest.fixture(scope="module")
def channel(running: Receiver) -> Iterator[grpc.Channel]:
    with opened(running) as channel:
        yield channel


@pytest.mark.parametrize("signal", list(Signal))
@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_request_reaches_the_sink_byte_by_byte(signal: Signal, compression: grpc.Compression) -> None:
    """Each signal arrives as it was sent, compressed or not, is answered with success and counted."""
    with receiver() as running, opened(running) as channel:
        assert b"" == export(channel, signal)(SOUND[signal], compression=compression, timeout=PATIENCE_S)
        assert [(signal, SOUND[signal])] == running.sink.requests
        counted = [
            running.count(f"{what}_total", protocol="grpc", signal=signal) for what in ("requests", "records", "bytes")
        ]
        assert [1, RECORDS[signal], len(SOUND[signal])] == counted


def test_unsound_records_are_told_in_a_partial_success(running: Receiver, channel: grpc.Channel) -> None:
    """The sender learns how many spans were left out and why; the others are kept."""
    answer = export(channel)(spans(span(), span(trace_id=bytes(16))), timeout=PATIENCE_S)
    told = ExportTraceServiceResponse.FromString(answer).partial_success
    assert (1, True) == (told.rejected_spans, "traceId" in told.error_message)
    assert spans(span()) == running.sink.payloads(Signal.TRACES)[-1]
    assert running.count("rejected_records_total", protocol="grpc", signal="traces") >= 1


def test_an_empty_request_is_a_success_and_kept_nowhere(running: Receiver, channel: grpc.Channel) -> None:
    """Nothing to keep is nothing to refuse."""
    before = len(running.sink.requests)
    assert b"" == export(channel)(b"", timeout=PATIENCE_S)
    assert before == len(running.sink.requests)


def test_malformed_bytes_are_refused_for_good(running: Receiver, channel: grpc.Channel) -> None:
    """What is no protobuf gets INVALID_ARGUMENT without a time to try again, and is counted."""
    before = running.refused("grpc", "traces", "malformed")
    assert (INVALID, None) == refused(channel, b"\xff\xff\xff")
    assert before + 1 == running.refused("grpc", "traces", "malformed")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.binary(max_size=300))
def test_no_bytes_make_it_fail(channel: grpc.Channel, payload: bytes) -> None:
    """Whatever is sent, the answer is success or INVALID_ARGUMENT."""
    try:
        export(channel)(payload, timeout=PATIENCE_S)
    except grpc.RpcError as error:
        assert INVALID is error.code()


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_over_the_limit_is_refused_for_good(channel: grpc.Channel, compression: grpc.Compression) -> None:
    """Too many bytes, on the wire or hidden in a small gzip, get RESOURCE_EXHAUSTED without a time to try again."""
    assert (EXHAUSTED, None) == refused(channel, bytes(100 * LIMIT if compression.value else LIMIT + 1))


def test_oversized_metadata_is_refused(channel: grpc.Channel) -> None:
    """The metadata of a call has a limit, too."""
    assert (EXHAUSTED, None) == refused(channel, b"", metadata=[("x", "y" * 8192)])


def test_a_call_without_a_message_is_refused(channel: grpc.Channel) -> None:
    """Half a call is no request."""
    empty = channel.stream_unary(f"/{SERVICES[Signal.LOGS]}/Export")
    with pytest.raises(grpc.RpcError) as raised:
        empty(iter(()), timeout=PATIENCE_S)
    assert INVALID is raised.value.code()


def test_an_unknown_service_is_unimplemented(channel: grpc.Channel) -> None:
    """A profile, say, is nothing that is taken."""
    with pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary("/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export")(b"", timeout=9)
    assert grpc.StatusCode.UNIMPLEMENTED is raised.value.code()


def test_a_full_sink_refuses_with_a_time_to_try_again() -> None:
    """RESOURCE_EXHAUSTED carries RetryInfo, whether the sink says so at once or later; then it works again."""

    def at_once(signal: Signal, payload: bytes) -> Future[None]:
        raise Full("the disk", 7)

    def later(signal: Signal, payload: bytes) -> Future[None]:
        future: Future[None] = Future()
        future.set_exception(Full("the disk", 7))
        return future

    for put in (at_once, later):
        with receiver(Kept(put)) as running, opened(running) as channel:
            assert (EXHAUSTED, 7) == refused(channel, SOUND[Signal.TRACES])
            assert 1 == running.refused("grpc", "traces", "full")
            assert 0 == running.count("records_total", protocol="grpc", signal="traces")


def test_a_failing_sink_is_unavailable() -> None:
    """Any other failure to keep a request is one after which the sender should try again."""
    failed: Future[None] = Future()
    failed.set_exception(OSError("secret path"))
    with receiver(Kept(lambda *_: failed)) as running:
        with opened(running) as channel:
            assert (grpc.StatusCode.UNAVAILABLE, 1) == refused(channel, SOUND[Signal.TRACES])
        assert 1 == running.refused("grpc", "traces", "not_kept")


def test_success_waits_for_the_sink() -> None:
    """An export is acknowledged when its future is done, not before."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink) as running, opened(running) as channel:
        call = export(channel).future(SOUND[Signal.TRACES], timeout=PATIENCE_S)
        sink.wait_for(1)
        assert not call.done()
        future.set_result(None)
        assert b"" == call.result()


def test_a_sink_that_takes_too_long_is_unavailable() -> None:
    """Waiting for the sink has an end even where the client sets none."""
    sink = Kept(lambda *_: Future())
    with receiver(sink, limits={"keep_s": 0.05}) as running, opened(running) as channel:
        assert (grpc.StatusCode.UNAVAILABLE, 1) == refused(channel, SOUND[Signal.TRACES])


def test_a_clients_deadline_frees_its_place() -> None:
    """A call whose deadline passes while it waits leaves nothing behind, and the sink may still finish."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink) as running, opened(running) as channel:
        with pytest.raises(grpc.RpcError) as raised:
            export(channel)(SOUND[Signal.TRACES], timeout=0.5)
        assert grpc.StatusCode.DEADLINE_EXCEEDED is raised.value.code()
        sink.put_as = lambda *_: _done()
        assert b"" == export(channel)(SOUND[Signal.TRACES], timeout=PATIENCE_S)
        assert 0 == running.count("in_flight_requests")
        assert 0 == running.count("in_flight_bytes")
        assert not future.cancelled()
        future.set_result(None)


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


@pytest.mark.parametrize("limits", [{"requests": 1}, {"bytes_in_flight": len(SOUND[Signal.TRACES]) + 10}])
def test_more_than_fits_at_a_time_is_refused_with_a_time_to_try_again(limits: dict[str, int]) -> None:
    """Beyond the limit of requests, or of their bytes, a call is refused while the others wait on."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink, limits=limits) as running, opened(running) as channel:
        first = export(channel).future(SOUND[Signal.TRACES], timeout=PATIENCE_S)
        sink.wait_for(1)
        assert (EXHAUSTED, 1) == refused(channel, SOUND[Signal.TRACES])
        assert 1 == running.refused("grpc", "traces", "busy")
        future.set_result(None)
        assert b"" == first.result()


def test_a_message_that_does_not_come_is_given_up() -> None:
    """A call that is opened and then silent does not keep its place."""
    go_on = threading.Event()

    def silent() -> Iterator[bytes]:
        go_on.wait(PATIENCE_S)
        yield b""

    with receiver(limits={"body_s": 0.05}) as running:
        with opened(running) as channel:
            try:
                with pytest.raises(grpc.RpcError) as raised:
                    channel.stream_unary(f"/{SERVICES[Signal.LOGS]}/Export")(silent(), timeout=PATIENCE_S)
            finally:
                go_on.set()
        assert grpc.StatusCode.DEADLINE_EXCEEDED is raised.value.code()
        assert 1 == running.refused("grpc", "logs", "slow")


def test_health_is_served(channel: grpc.Channel) -> None:
    """The standard health service knows the server and each Export service."""
    stub = health_pb2_grpc.HealthStub(channel)
    for name in ("", *SERVICES.values()):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE_S)
        assert health_pb2.HealthCheckResponse.SERVING == answer.status


def test_stopping_lets_calls_in_flight_end() -> None:
    """A call that waits for the sink when the server stops is still answered."""
    future: Future[None] = Future()
    sink = Kept(lambda *_: future)
    with receiver(sink) as running, opened(running) as channel:
        call = export(channel).future(SOUND[Signal.TRACES], timeout=PATIENCE_S)
        sink.wait_for(1)
        stopped = threading.Thread(target=lambda: running.run(running.grpc.stop(PATIENCE_S)))
        stopped.start()
        future.set_result(None)
        assert b"" == call.result()
        stopped.join(PATIENCE_S)
        assert not stopped.is_alive()


def test_a_port_in_use_is_an_error_of_configuration(running: Receiver) -> None:
    """A second service does not share the port in silence."""
    with pytest.raises(ConfigError, match="in use"), receiver(grpc_port=running.grpc.port):
        pass
