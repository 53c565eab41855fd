"""Who may send: bearer tokens and certificates, over both protocols."""

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from pydantic import ValidationError

from collector.otlp_grpc import SERVICES
from collector.receiving.security import Guard, guard
from collector.receiving.settings import ReceiverSettings
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from tests.collector.certificates import Authority, Pair
from tests.collector.receiving import PATIENCE_S, Receiver, receiver
from tests.collector.telemetry import SOUND

TOKEN = "s3cret-t0ken"


def post(port: int, headers: dict[str, str], tls: ssl.SSLContext | None = None) -> int:
    plain = http.client.HTTPConnection("localhost", port)
    with closing(plain if tls is None else http.client.HTTPSConnection("localhost", port, context=tls)) as client:
        client.request("POST", "/v1/traces", SOUND[Signal.TRACES], {"Content-Type": "application/x-protobuf"} | headers)
        return client.getresponse().status


def call(channel: grpc.Channel, *metadata: tuple[str, str]) -> grpc.StatusCode:
    export = channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export")
    with channel:
        try:
            export(SOUND[Signal.TRACES], metadata=metadata, timeout=10)
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


def plain(running: Receiver) -> grpc.Channel:
    return grpc.insecure_channel(f"localhost:{running.grpc.port}")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Receiver]:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    with receiver(token_file=file) as running:
        yield running


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}"])
def test_the_right_token_opens(guarded: Receiver, header: str) -> None:
    """With the token of the file both protocols take telemetry."""
    assert 200 == post(guarded.http.port, {"Authorization": header})
    assert grpc.StatusCode.OK is call(plain(guarded), ("authorization", header))
    assert [SOUND[Signal.TRACES]] * 2 == guarded.sink.payloads(Signal.TRACES)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN])
def test_any_other_token_is_refused_and_counted(guarded: Receiver, header: str | None) -> None:
    """Without the token nothing is taken, and the refusal is permanent."""
    headers = {} if header is None else {"Authorization": header}
    metadata = [] if header is None else [("authorization", header)]
    assert 401 == post(guarded.http.port, headers)
    assert grpc.StatusCode.UNAUTHENTICATED is call(plain(guarded), *metadata)
    assert [] == guarded.sink.requests
    assert (1, 1) == tuple(guarded.refused(protocol, "traces", "unauthenticated") for protocol in ("http", "grpc"))


def test_a_probe_needs_no_token(guarded: Receiver) -> None:
    """Liveness is no secret."""
    with closing(http.client.HTTPConnection("localhost", guarded.http.port)) as client:
        client.request("GET", "/healthz")
        assert 200 == client.getresponse().status


def test_the_token_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named variable of the environment is as good as a file."""
    monkeypatch.setenv("OTLP_TOKEN", TOKEN)
    found = guard(ReceiverSettings(token_env="OTLP_TOKEN"))
    assert (True, False) == (found.admits(f"Bearer {TOKEN}"), found.admits(None))


def test_secrets_are_not_shown() -> None:
    """The guard's repr does not contain the token."""
    assert TOKEN not in repr(Guard(TOKEN.encode()))


@pytest.mark.parametrize("content", ["", "\n", "two words", "ünïcode"])
def test_an_unusable_token_is_an_error_of_configuration(tmp_path: Path, content: str) -> None:
    """An empty file does not mean that everybody may send, and its content is not shown."""
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(ConfigError, match="token_file") as raised:
        guard(ReceiverSettings(token_file=file))
    assert not content.strip() or content not in str(raised.value)


def test_a_missing_token_is_an_error_of_configuration(tmp_path: Path) -> None:
    """A file or variable that is not there is said, not passed over."""
    with pytest.raises(ConfigError, match="nowhere"):
        guard(ReceiverSettings(token_file=tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="NO_SUCH_VARIABLE"):
        guard(ReceiverSettings(token_env="NO_SUCH_VARIABLE"))
    with pytest.raises(ValidationError, match="found both"):
        ReceiverSettings(token_file=tmp_path / "a", token_env="B")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server_pair(authority: Authority) -> Pair:
    return authority.signs("server")


def trusting(authority: Authority, client: Pair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.cert_file)
    if client is not None:
        context.load_cert_chain(client.cert_file, client.key_file)
    return context


def channel(running: Receiver, authority: Authority, client: Pair | None = None) -> grpc.Channel:
    pair = () if client is None else (client.key_file.read_bytes(), client.cert_file.read_bytes())
    credentials = grpc.ssl_channel_credentials(authority.cert_file.read_bytes(), *pair)
    return grpc.secure_channel(f"localhost:{running.grpc.port}", credentials)


def test_tls_takes_those_who_trust_it(authority: Authority, server_pair: Pair) -> None:
    """With a certificate both protocols are encrypted, and plain text gets nowhere."""
    with receiver(tls=vars(server_pair)) as running:
        assert 200 == post(running.http.port, {}, trusting(authority))
        assert grpc.StatusCode.OK is call(channel(running, authority))
        with pytest.raises((http.client.HTTPException, OSError)):
            post(running.http.port, {})
        assert 2 == len(running.sink.requests)


def test_a_handshake_that_does_not_come_is_given_up(server_pair: Pair) -> None:
    """A client that connects and never begins TLS is cut off, by both servers."""
    with receiver(tls=vars(server_pair), limits={"header_s": 0.1}) as running:
        for port in (running.http.port, running.grpc.port):
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as silent:
                assert b"" == silent.recv(1)


def test_mutual_tls_takes_only_clients_of_the_authority(
    authority: Authority, server_pair: Pair, tmp_path: Path
) -> None:
    """With a client authority only its certificates get in; none, or one signed by another, does not."""
    stranger = Authority(tmp_path).signs("stranger")
    with receiver(tls=vars(server_pair) | {"client_ca_file": authority.cert_file}) as running:
        known = authority.signs("client")
        assert 200 == post(running.http.port, {}, trusting(authority, known))
        assert grpc.StatusCode.OK is call(channel(running, authority, known))
        for client in (None, stranger):
            with pytest.raises(OSError):
                post(running.http.port, {}, trusting(authority, client))
            assert grpc.StatusCode.UNAVAILABLE is call(channel(running, authority, client))
        assert 2 == len(running.sink.requests)


def test_files_that_do_not_fit_are_an_error_of_configuration(authority: Authority, server_pair: Pair) -> None:
    """A key of another certificate is found at the start, not at the first handshake."""
    other = authority.signs("other")
    with (
        pytest.raises(ConfigError, match=r"other\.key"),
        receiver(tls={"cert_file": server_pair.cert_file, "key_file": other.key_file}),
    ):
        pass
