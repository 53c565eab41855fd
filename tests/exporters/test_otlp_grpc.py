"""Findings by OTLP/gRPC: every status, trouble of every kind, checked addresses; against real servers."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from correlator.model.deliveries import DeliveryState, WantedDeliveries
from correlator.model.errors import ConfigError
from correlator.model.notices import Attempt
from correlator.model.records import Signal
from correlator.model.retrying import Later, Never
from correlator.notify.answers import MAX_ANSWER_BYTES
from correlator.notify.calling import FINAL
from correlator.notify.line import Target
from correlator.notify.outbox import Outbox, Put
from correlator.notify.pinned import Poster
from correlator.notify.sending import Notifier
from exporters.otlp import METHODS
from tests.collector.certificates import Authority
from tests.collector.collector_process import collector
from tests.collector.spooling import spooled
from tests.exporters.incidents import told
from tests.exporters.telling import KEY, target, until

CODES = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]


@dataclass
class Backend(grpc.GenericRpcHandler):
    """A server that takes every method and answers as a test says; `got` are method, metadata and body."""

    answer: Callable[[grpc.ServicerContext], bytes] = lambda context: b""
    got: list[tuple[str, dict[str, Any], bytes]] = field(default_factory=list)
    port: int = 0

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        def handle(body: bytes, context: grpc.ServicerContext) -> bytes:
            told = {str(key): value for key, value in context.invocation_metadata()}
            self.got.append((details.method, told, body))
            return self.answer(context)

        return grpc.unary_unary_rpc_method_handler(handle)

    @property
    def url(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"


@contextmanager
def backend(answer: Callable[[grpc.ServicerContext], bytes] = lambda context: b"", **tls: Any) -> Iterator[Backend]:
    served = Backend(answer)
    server = grpc.server(ThreadPoolExecutor(4), handlers=[served])
    credentials = tls.get("credentials")
    if credentials is None:
        served.port = server.add_insecure_port("127.0.0.1:0")
    else:
        served.port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield served
    finally:
        server.stop(None).wait()


async def sent(to: Target) -> str:
    """What becomes of one attempt."""
    poster = Poster(to.context, to.allow, to.connect_timeout_s, to.timeout_s)
    try:
        for request in to.requests(told(), Attempt(at=1, secret=to.secret())):
            to.answered(await poster.post(request, to.secret()))
    except (Later, Never) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await poster.close()
    return "taken"


def outcome(folder: Path, url: str, **options: Any) -> str:
    return asyncio.run(sent(target("otlp", folder, url, **options)))


def refusing(code: grpc.StatusCode, text: str = "") -> Callable[[grpc.ServicerContext], bytes]:
    def answer(context: grpc.ServicerContext) -> bytes:
        context.abort(code, text)
        return b""

    return answer


def test_events_and_span_are_called_in(tmp_path: Path) -> None:
    """Both services, the token in the metadata, the messages as by HTTP."""
    with backend() as there:
        assert "taken" == outcome(tmp_path, there.url)
    assert list(METHODS.values()) == [method for method, _, _ in there.got]
    assert {f"Bearer {KEY}"} == {metadata["authorization"] for _, metadata, _ in there.got}
    records = ExportLogsServiceRequest.FromString(there.got[0][2]).resource_logs[0].scope_logs[0].log_records
    assert "tollens.incident" == records[0].event_name


def test_every_status_is_understood(tmp_path: Path) -> None:
    """What blames the sender is final; everything else comes again."""
    with backend() as there:
        for code in CODES:
            there.answer = refusing(code, "so it is")
            kind = "Never" if code.name in FINAL else "Later"
            assert f"{kind}: gRPC status {code.name}: so it is" == outcome(tmp_path, there.url)


def test_a_wish_for_a_rest_is_heard(tmp_path: Path) -> None:
    """`RetryInfo` says for how long, as the OTLP specification has it; one that cannot be read is none."""
    status = Status(code=8)
    info = RetryInfo()
    info.retry_delay.FromSeconds(7)
    status.details.add().Pack(info)
    given = iter([status.SerializeToString(), b"\xff\xff", None])

    def answer(context: grpc.ServicerContext) -> bytes:
        if (details := next(given)) is not None:
            context.set_trailing_metadata((("grpc-status-details-bin", details),))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "")
        return b""

    rests = []
    with backend(answer) as there:
        to = target("otlp", tmp_path, there.url)
        request = to.requests(told(), Attempt(at=1))[0]
        for _ in range(3):
            with pytest.raises(Later) as later:
                asyncio.run(Poster(to.context, to.allow, 5, 5).post(request))
            rests.append(later.value.after_s)
    assert [7.0, 0.0, 0.0] == rests


def test_a_closed_port_a_slow_server_and_a_huge_answer_are_left(tmp_path: Path) -> None:
    """Nobody listens; nothing comes in time; more comes than anybody reads: later."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert outcome(tmp_path, f"grpc://127.0.0.1:{port}").startswith("Later: gRPC status UNAVAILABLE")
    gate = threading.Event()
    with backend(lambda context: bytes(gate.wait(30))) as there:
        found = outcome(tmp_path, there.url, timeout_s=0.3)
        gate.set()
    assert found.startswith(("Later: no answer within 0.3 s", "Later: gRPC status DEADLINE_EXCEEDED"))
    with backend(lambda context: b"x" * (2 * MAX_ANSWER_BYTES)) as there:
        assert outcome(tmp_path, there.url).startswith("Later: gRPC status RESOURCE_EXHAUSTED")


def test_a_part_that_was_rejected_is_a_dead_letter(tmp_path: Path) -> None:
    """A partial success is no success, and is not to be sent again; a mere warning is taken."""
    answer = ExportLogsServiceResponse()
    answer.partial_success.error_message = "too many attributes"
    with backend(lambda context: answer.SerializeToString()) as there:
        assert "taken" == outcome(tmp_path, there.url)
        answer.partial_success.rejected_log_records = 2
        assert "Never: 2 records were rejected: too many attributes" == outcome(tmp_path, there.url)


def dead(outbox: Outbox) -> list[str]:
    return [letter.reason for letter in outbox.find(WantedDeliveries(state=DeliveryState.DEAD))]


def test_no_secret_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An answer that repeats the token is kept without it."""
    outbox = Outbox(tmp_path / "outbox")
    outbox.put([Put(target="otlp", notice=told(), mark="a")])
    with backend(refusing(grpc.StatusCode.PERMISSION_DENIED, f"no {KEY}")) as there:
        notifier = Notifier(outbox, [target("otlp", tmp_path, there.url)])
        notifier.start()
        until(lambda: dead(outbox))
        notifier.stop()
    assert ["gRPC status PERMISSION_DENIED: no …"] == dead(outbox)
    assert KEY not in caplog.text + repr(notifier.states())
    outbox.close()


def test_a_restart_in_the_middle_sends_the_same_again(tmp_path: Path) -> None:
    """Stopped before it was taken, the notice goes out again as it was."""
    with backend(refusing(grpc.StatusCode.UNAVAILABLE)) as there:
        to, outbox = target("otlp", tmp_path, there.url), Outbox(tmp_path / "outbox")
        outbox.put([Put(target="otlp", notice=told(), mark="a")])
        first = Notifier(outbox, [to])
        first.start()
        until(lambda: there.got)
        first.stop()
        outbox.close()
        there.answer, again = lambda context: b"", Outbox(tmp_path / "outbox")
        second = Notifier(again, [to])
        second.start()
        until(lambda: again.states(["otlp"])[0].waiting == 0)
        second.stop()
        assert [] == dead(again)
        again.close()
    assert 1 == len({body for method, _, body in there.got if method == METHODS["logs"]})


def test_addresses_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A public name that leads inside, and proxies of the environment: nothing is sent there."""
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1", *rest, **more))
    monkeypatch.setenv("grpc_proxy", "http://127.0.0.1:1")
    with backend() as there:
        url = there.url.replace("127.0.0.1", "otel.example.com")
        assert outcome(tmp_path, url, allow=[]).startswith("Later: the host has no public address")
        assert [] == there.got
        assert "taken" == outcome(tmp_path, url, allow=["127.0.0.1"])


@pytest.mark.parametrize("url", ["grpc://h.example", "grpc://h.example:1/path", "unix:///socket", "grpc://10.0.0.1:1"])
def test_other_endpoints_are_errors_at_the_start(url: str, tmp_path: Path) -> None:
    """No port, a path, a socket of the file system, a private address that nobody allowed."""
    with pytest.raises(ConfigError, match="url: expected"):
        target("otlp", tmp_path, url, allow=[])


def test_certificates_have_to_be_those_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`grpcs` trusts `ca_file`, and the host's name, not the address, has to be in the certificate."""
    authority = Authority(tmp_path)
    pair = authority.signs("server")
    credentials = grpc.ssl_server_credentials([(pair.key_file.read_bytes(), pair.cert_file.read_bytes())])
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1", *rest, **more))
    with backend(credentials=credentials) as there:
        url = f"grpcs://localhost:{there.port}"
        assert "taken" == outcome(tmp_path, url, ca_file=str(authority.cert_file))
        assert outcome(tmp_path, url).startswith("Later: gRPC status UNAVAILABLE")
        other = url.replace("localhost", "ops.example")
        assert outcome(tmp_path, other, ca_file=str(authority.cert_file)).startswith("Later: gRPC status UNAVAILABLE")
        assert 2 == len(there.got)


def test_a_real_collector_takes_it(tmp_path: Path) -> None:
    """Tollens' own gRPC receiver acknowledges and keeps both."""
    with collector(tmp_path) as running:
        assert "taken" == outcome(tmp_path, f"grpc://{running.grpc}")
        assert 0 == running.stop()
    assert {Signal.LOGS, Signal.TRACES} <= {signal for signal, _ in spooled(tmp_path / "spool")}
