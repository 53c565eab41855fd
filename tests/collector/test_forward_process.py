"""One collector forwards to another, both real processes: nothing acknowledged is lost on the way."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.collector.certificates import Authority
from tests.collector.collector_process import Running, collector, names, request
from tests.collector.spooling import spooled, wait_until

SPANS = 30


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def to(port: int, scheme: str = "http", **changes: Any) -> dict[str, Any]:
    return {"forward": {"endpoint": f"{scheme}://localhost:{port}"} | changes}


@contextmanager
def upstream(data: Path, port: int, config: dict[str, Any] | None = None) -> Iterator[Running]:
    with collector(data, config, "--otlp-http-port", f"{port}") as running:
        yield running


def sent(running: Running, first: int = 0) -> list[str]:
    """Send spans, all acknowledged; their names."""
    numbers = range(first, first + SPANS)
    assert {200} == {running.post(request(number)).status_code for number in numbers}
    return sorted(f"{number}" for number in numbers)


def come(data: Path) -> Callable[[], bool]:
    """Whether all spans that were sent have come, as far as segments are sealed or not."""
    return lambda: len(set(names(data))) >= SPANS


def test_all_arrives_when_the_other_side_comes_up(tmp_path: Path) -> None:
    """While the other side is down the spool keeps everything and says so; then it is handed on, once."""
    port = free_port()
    with collector(tmp_path / "host", to(port)) as host:
        wanted = sent(host)
        wait_until(lambda: host.metrics()["tollens_forward_trouble"] == 1)
        assert 0 == host.metrics()["tollens_forward_requests_total"]
        with upstream(tmp_path / "centre", port) as centre:
            wait_until(come(tmp_path / "centre"))
            wait_until(lambda: host.metrics()["tollens_forward_trouble"] == 0)
            assert 0 == host.stop()
            assert 0 == centre.stop()
    assert wanted == sorted(names(tmp_path / "centre"))
    assert [] == spooled(tmp_path / "host" / "spool")


def test_a_killed_forwarder_goes_on_after_its_restart(tmp_path: Path) -> None:
    """SIGKILL on the way loses nothing; what was sent before may come a second time."""
    port = free_port()
    with upstream(tmp_path / "centre", port):
        with collector(tmp_path / "host", to(port)) as host:
            wanted = sent(host)
            wait_until(lambda: host.metrics()["tollens_forward_requests_total"] >= 1)
            host.stop(signal.SIGKILL)
        with collector(tmp_path / "host", to(port)) as host:
            wait_until(come(tmp_path / "centre"))
            assert 0 == host.stop()
    assert wanted == sorted(set(names(tmp_path / "centre")))


def test_a_stop_hands_on_what_came_last_over_mutual_tls(tmp_path: Path) -> None:
    """A host that goes away right after its last span has handed it on, with certificates on both sides and a token."""
    port, authority = free_port(), Authority(tmp_path)
    server, client = authority.signs("server"), authority.signs("client")
    (tmp_path / "token").write_text("s3cret")
    (tmp_path / "headers").write_text("Authorization: Bearer s3cret\n")
    ca_file = str(authority.cert_file)
    tls = {"cert_file": str(server.cert_file), "key_file": str(server.key_file), "client_ca_file": ca_file}
    shown = {"cert_file": str(client.cert_file), "key_file": str(client.key_file), "ca_file": ca_file}
    receivers = {"receivers": {"tls": tls, "token_file": str(tmp_path / "token")}}
    with upstream(tmp_path / "centre", port, receivers) as centre:
        forward = to(port, "https", tls=shown, headers_file=str(tmp_path / "headers"))
        with collector(tmp_path / "host", forward) as host:
            wanted = sent(host)
            assert 0 == host.stop()
        assert [] == spooled(tmp_path / "host" / "spool")
        assert 0 == centre.stop()
    assert wanted == sorted(names(tmp_path / "centre"))
    assert "s3cret" not in host.log.read_text()
