"""Where requests may go: tricks with addresses and URLs, one by one."""

import socket
from ipaddress import ip_address

import pytest

from correlator.model.outbound import allowance, http_url, leads_inside, permitted

INSIDE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "fec0::1",
    "168.63.129.16",
    "192.0.0.192",
    "::ffff:168.63.129.16",
]
OUTSIDE = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", INSIDE)
def test_inside_is_refused(address: str) -> None:
    """Loopback, private, link-local, reserved, and what carries such an address, in either family."""
    assert not permitted(ip_address(address), "example.com", ())


@pytest.mark.parametrize("address", OUTSIDE)
def test_outside_is_permitted(address: str) -> None:
    """Public addresses are reached without being named."""
    assert permitted(ip_address(address), "example.com", ())


@pytest.mark.parametrize(
    ("address", "allow"), [("10.1.2.3", "10.0.0.0/8"), ("::1", "::1"), ("169.254.1.1", "169.254.1.1")]
)
def test_a_network_can_be_allowed(address: str, allow: str) -> None:
    """By CIDR or single address, and nothing beside it."""
    assert permitted(ip_address(address), "x", (allowance(allow),))
    assert not permitted(ip_address("192.168.0.1"), "x", (allowance(allow),))


def test_a_host_name_can_be_allowed() -> None:
    """It may be private then, whatever the case of its letters, but nobody else may."""
    allow = (allowance("Alertmanager.Svc"),)
    assert permitted(ip_address("10.0.0.1"), "alertmanager.svc.", allow)
    assert not permitted(ip_address("10.0.0.1"), "other.svc", allow)


def test_an_allowed_name_never_leads_to_credentials_of_a_cloud() -> None:
    """A name that DNS turns to a link-local address is refused, allowed or not."""
    assert not permitted(ip_address("169.254.169.254"), "ops", ("ops",))
    assert not permitted(ip_address("::ffff:169.254.169.254"), "ops", ("ops",))
    for elsewhere in ("fd00:ec2::254", "100.100.100.200", "168.63.129.16"):
        assert not permitted(ip_address(elsewhere), "ops", ("ops",))
        assert permitted(ip_address(elsewhere), "ops", (allowance(elsewhere),))


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0"])
def test_odd_spellings_are_judged_by_the_address_they_mean(host: str) -> None:
    """Decimal, octal, hexadecimal and short forms of loopback are loopback."""
    found = {entry[4][0] for entry in socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)}
    assert found
    assert not any(permitted(ip_address(address), host, ()) for address in found)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com",
        "//example.com/",
        "example.com",
        "http://",
        "http:///path",
        "https://user@example.com/",
        "https://user:pass@example.com/",
        "https://example.com:99999/",
        "https://example.com:0/",
        "https://[::1/",
        "https://example.com/\r\nX-Evil: 1",
        "https://example.com/a b",
        "https://example.com\\@127.0.0.1/",
        "https://exämple.com/",
        "https://example.com/\t",
        "",
    ],
)
def test_such_urls_are_refused_and_not_shown(url: str) -> None:
    """Other schemes, users, control characters: an error that does not repeat the URL, which may be a secret."""
    with pytest.raises(ValueError, match="expected a URL") as error:
        http_url(url)
    assert "passwd" not in str(error.value)
    assert "evil" not in str(error.value).lower()


@pytest.mark.parametrize("url", ["https://example.com", "http://a.b:8080/c?d=e#f", "https://[2606:4700::1]/x"])
def test_plain_urls_are_taken(url: str) -> None:
    """As they are."""
    assert url == http_url(url)


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://localhost:9093", True),
        ("http://[::1]/", True),
        ("http://10.0.0.1/", True),
        ("http://8.8.8.8/", False),
        ("http://example.com/", False),
    ],
)
def test_what_is_plainly_inside_is_known_without_resolving(url: str, inside: bool) -> None:
    """Addresses and localhost."""
    assert inside == leads_inside(url, ())


@pytest.mark.parametrize("entry", ["10.0.0.1/8", "300.0.0.0/8", "a b", "", "-x", "http://x", "*"])
def test_an_odd_allowance_is_refused(entry: str) -> None:
    """It would allow nothing, or something else than meant."""
    with pytest.raises(ValueError, match="expected a network"):
        allowance(entry)
