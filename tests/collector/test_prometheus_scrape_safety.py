"""The scraper among strangers: certificates, redirects, and pages of arbitrary bytes."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from collector.prometheus_scrape import ScrapeJob, Scraper, ScraperState, ScrapeSettings
from collector.scraping.fetch import Body, ScrapeError
from collector.scraping.page import exposed
from tests.collector.memory_sink import MemorySink
from tests.collector.pages import Request, pages


def scraped(job: ScrapeJob) -> tuple[float | None, ScraperState]:
    """The value of `up` after the first scrape, and the state."""
    sink = MemorySink()
    scraper = Scraper(ScrapeSettings(jobs=(job,)), sink)
    scraper.start()
    try:
        (up, *_) = sink.until(lambda: sink.values("up"))
        return up, scraper.state()
    finally:
        scraper.stop()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 signed by itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, none)
    path.write_bytes(signed.public_bytes(pem) + secret)
    return path


@pytest.mark.parametrize(("trusted", "up"), [(True, 1.0), (False, 0.0)])
def test_certificates_are_checked(certificate: Path, trusted: bool, up: float) -> None:
    """A server whose certificate the given file vouches for is scraped, another is down and told nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with pages("depth 1\n") as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        job = ScrapeJob(
            name="tls",
            targets=(server.address,),
            scheme="https",
            ca_file=certificate if trusted else None,
            interval_s=0.1,
            timeout_s=20,
        )
        found, state = scraped(job)
        assert (up, int(up) > 0) == (found, bool(server.seen))
    assert trusted or "failed.connection" in state.targets[0].counts


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file of certificates is named; the target is down and may come up once it is there."""
    missing = tmp_path / "ca.pem"
    with pages("depth 1\n") as server:
        job = ScrapeJob(name="x", targets=(server.address,), ca_file=missing, interval_s=0.1, timeout_s=20)
        up, state = scraped(job)
    assert (0.0, 1) == (up, state.targets[0].counts["failed.tls"])
    assert str(missing) in state.targets[0].error


def test_a_token_does_not_follow_to_another_server(tmp_path: Path) -> None:
    """A redirect is followed, but the token stays with the server it was meant for."""
    token = tmp_path / "token"
    token.write_text("s3cret")
    with pages("depth 1\n") as other:

        def elsewhere(request: Request) -> None:
            request.page("", status=307, Location=f"http://{other.address}/metrics/")

        with pages(elsewhere) as server:
            job = ScrapeJob(name="x", targets=(server.address,), bearer_token_file=token, interval_s=0.1, timeout_s=20)
            up, _ = scraped(job)
            assert 1.0 == up
            assert {"Bearer s3cret"} == {asked["Authorization"] for asked in server.seen}
            assert {None} == {asked.get("Authorization") for asked in other.seen}


@pytest.mark.parametrize("token", ["", "two\nlines", "\x00", "é"])
def test_a_token_that_is_none(tmp_path: Path, token: str) -> None:
    """A token file that could not be a header is named, and no request is sent."""
    path = tmp_path / "token"
    path.write_text(token)
    with pages("depth 1\n") as server:
        up, state = scraped(
            ScrapeJob(name="x", targets=(server.address,), bearer_token_file=path, interval_s=0.1, timeout_s=20)
        )
        assert ([], 0.0) == (server.seen, up)
    assert state.targets[0].counts["failed.token"] >= 1


LINES = st.sampled_from(
    ["# TYPE a counter", "# TYPE a histogram", "# HELP a b", "# EOF", 'a_bucket{le="1"} 2', "a_count 3", "a 1", "a 1 1",
     'a{b="c"} NaN', 'a{b="c"} 1 # {} 2', "# UNIT a s", '{"a.b"} 1', "a_created 1", "DCGM_FI_X 9e99", "# 2026-11-30"]
)  # fmt: skip


@given(
    content=st.binary(max_size=200) | st.lists(LINES, max_size=12).map(lambda x: "\n".join(x).encode()),
    openmetrics=st.booleans(),
)
def test_any_page_is_read_or_refused(content: bytes, openmetrics: bool) -> None:
    """Whatever a page holds, it is read or refused with a reason, and no series has two points at one time."""
    try:
        page = exposed(Body(content, openmetrics), 1_796_000_000_000_000_000, 100)
    except ScrapeError as error:
        assert str(error)
        return
    points = [
        (metric.name, metric.WhichOneof("data"), str(point.attributes), point.time_unix_nano)
        for metric in page.metrics
        for point in getattr(metric, metric.WhichOneof("data") or "gauge").data_points
    ]
    assert len(set(points)) == len(points)
