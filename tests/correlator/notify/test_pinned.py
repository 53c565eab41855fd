"""Connections go to the address that was judged, with the name and the certificate of the host."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from correlator.model.notices import HttpRequest
from correlator.model.outbound import allowance
from correlator.model.retrying import Later, Never
from correlator.notify.pinned import Poster
from tests.collector.certificates import Authority
from tests.exporters.telling import Answer, Receiver, receiver
from tests.serving import served


def names(monkeypatch: pytest.MonkeyPatch, **answers: list[str]) -> list[str]:
    """Names resolve to these addresses, one answer after the other; every question is kept."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        key = name.replace(".", "_")
        if key not in answers:
            return real(host, port, *args, **options)
        asked.append(name)
        address = answers[key][min(len(asked), len(answers[key])) - 1]
        return [entry for part in address.split() for entry in real(part, port, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def post(url: str, *allow: str, context: ssl.SSLContext | None = None, **headers: str) -> None:
    async def once() -> None:
        poster = Poster(context or ssl.create_default_context(), [*map(allowance, allow)], 2.0, 2.0)
        try:
            await poster.post(HttpRequest(url=url, body=b"{}", headers=headers), "the-secret")
        finally:
            await poster.close()

    asyncio.run(once())


def test_a_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public name whose address is loopback: nothing is sent, and the reason says what to do."""
    names(monkeypatch, evil_example=["127.0.0.1"])
    with receiver() as there:
        with pytest.raises(Later, match="no public address, and `allow` does not name it"):
            post(there.url.replace("127.0.0.1", "evil.example"))
        assert [] == there.got


def test_a_name_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged is what is connected to: a second, other answer of DNS is never asked for."""
    asked = names(monkeypatch, ops_example=["127.0.0.1", "127.0.0.2"])
    with receiver() as there:
        post(there.url.replace("127.0.0.1", "ops.example"), "127.0.0.1")
        assert there.got[0].headers["host"] == f"ops.example:{there.server_address[1]}"
    assert ["ops.example"] == asked


def test_of_several_addresses_only_permitted_ones_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One forbidden address among others is passed over; one that does not answer, too."""
    names(monkeypatch, ops_example=["127.0.0.3 127.0.0.2 127.0.0.1"])
    with receiver() as there:
        post(there.url.replace("127.0.0.1", "ops.example"), "127.0.0.1", "127.0.0.2")
        assert 1 == len(there.got)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]", "localhost"])
def test_odd_spellings_of_loopback_are_refused(host: str) -> None:
    """However it is spelled, nothing is sent there."""
    with receiver() as there:
        with pytest.raises(Later, match="no public address"):
            post(there.url.replace("127.0.0.1", host))
        assert [] == there.got


def test_a_name_that_does_not_exist_is_tried_again() -> None:
    """DNS may come back."""
    with pytest.raises(Later, match="cannot be resolved"):
        post("http://no-such-host.invalid/")


def test_a_redirect_inside_is_not_followed() -> None:
    """A receiver cannot send us elsewhere."""
    with receiver() as inner, receiver(always=Answer(307, {"Location": inner.url})) as there:
        with pytest.raises(Later, match="redirects are not followed"):
            post(there.url, "127.0.0.1")
        assert [] == inner.got


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would see the message, and make the address meaningless."""
    with receiver() as proxy, receiver() as there:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        post(there.url, "127.0.0.1")
        assert (0, 1) == (len(proxy.got), len(there.got))


def test_a_header_that_cannot_be_sent_is_not_told() -> None:
    """The library's own error would show it."""
    with receiver() as there, pytest.raises(Later) as error:
        post(there.url, "127.0.0.1", Authorization="Bearer line\r\nbreak")
    assert "line" not in str(error.value)


def test_an_answer_that_is_no_http_is_tried_again() -> None:
    """Another kind of server listens there."""

    def speak(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")
            connection.recv(1000)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=speak, args=(listener,))
        thread.start()
        with pytest.raises(Later, match="the request failed"):
            post(f"http://127.0.0.1:{listener.getsockname()[1]}/", "127.0.0.1")
        thread.join()


@contextmanager
def tls_receiver(authority: Authority) -> Iterator[Receiver]:
    """A receiver whose certificate is for localhost and 127.0.0.1."""
    pair = authority.signs("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert_file, pair.key_file)
    with Receiver(lambda got: Answer()) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with served(server):
            yield server


def test_the_certificate_has_to_be_that_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is good for the address only is none for the host."""
    names(monkeypatch, ops_example=["127.0.0.1"])
    authority = Authority(tmp_path)
    context = ssl.create_default_context(cafile=authority.cert_file)
    with tls_receiver(authority) as there:
        port = there.server_address[1]
        post(f"https://localhost:{port}/", "127.0.0.1", context=context)
        with pytest.raises(Later, match=r"cannot connect: .*certificate"):
            post(f"https://ops.example:{port}/", "127.0.0.1", context=context)
        assert 1 == len(there.got)


def test_a_refusal_tells_what_the_receiver_said_without_secrets() -> None:
    """The answer helps a person; what it repeats of secret, path or headers is left out."""
    with (
        receiver(always=Answer(400, body=b"bad the-secret at /deep/path for Bearer-of-news: no\0pe")) as there,
        pytest.raises(Never) as error,
    ):
        post(f"{there.url}/deep/path", "127.0.0.1", Authorization="Bearer-of-news")
    assert "HTTP status 400: bad … at … for …: no pe" == str(error.value)


@pytest.mark.parametrize(
    "answer",
    ["x " * 95 + "the-secret", 'no {"url": "https:\\/\\/hooks\\/T0\\/verysecretpath"}', "no token verysecretvalue"],
    ids=["at the edge", "escaped", "part of the query"],
)
def test_no_piece_of_a_secret_is_told(answer: str) -> None:
    """Not where the answer is cut, not with slashes escaped, not out of its place in the URL."""
    with receiver(always=Answer(403, body=answer.encode())) as there, pytest.raises(Never) as error:
        post(f"{there.url}/T0/verysecretpath?token=verysecretvalue", "127.0.0.1")
    assert "HTTP status 403: " == str(error.value)[:17]
    assert not any(piece in str(error.value) for piece in ("the-s", "very"))


def test_too_large_for_now_is_tried_again() -> None:
    """413 with Retry-After says that it is temporary (RFC 9110, 15.5.14); without, it is final."""
    with receiver(Answer(413, {"Retry-After": "7"}), Answer(413)) as there:
        with pytest.raises(Later) as later:
            post(there.url, "127.0.0.1")
        with pytest.raises(Never):
            post(there.url, "127.0.0.1")
    assert 7.0 == later.value.after_s
