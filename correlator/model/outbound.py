"""Where requests of ours may go: which URLs and addresses, so that no setting or DNS answer leads into the house.

Addresses that are not public are refused unless allowed. Forms such as `0x7f.1` or `2130706433` are judged by the
address that they resolve to, and addresses that carry an IPv4 address inside by that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
HTTP = ("http", "https")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_METADATA = frozenset(map(ip_address, ("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254")))
"""Where Azure, Oracle, Alibaba and AWS (IPv6) give credentials to their machines, besides link-local addresses."""
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")


def http_url(text: str, schemes: Sequence[str] = HTTP) -> str:
    """The URL as it is. ValueError says what was expected, without the URL: it may be a secret."""
    if not text.isascii() or any(not "!" <= sign <= "~" or sign == "\\" for sign in text):
        raise ValueError("expected a URL of plain printable ASCII, without blanks")
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise ValueError("expected a URL such as https://example.com/path") from None
    if url.scheme not in schemes or not url.hostname or port == 0:
        raise ValueError(f"expected a URL such as https://example.com/path, {' or '.join(schemes)}")
    if url.username is not None or url.password is not None:
        raise ValueError("expected a URL without user and password; secrets come from secret_file or secret_env")
    return text


def allowance(text: str) -> str:
    """An entry of an allow-list: network, address or host name. ValueError says what was expected."""
    try:
        return str(ip_network(text))
    except ValueError:
        pass
    if _NAME.fullmatch(text) and not re.fullmatch(r"[\d./]+", text):
        return text.lower().rstrip(".")
    raise ValueError(f"expected a network such as 10.0.0.0/8 or a host name, found {text[:80]!r}")


def permitted(address: Address, host: str, allow: Collection[str]) -> bool:
    """Whether to connect to the address to which `host` resolved.

    A name that is allowed may lead to private addresses, but to where clouds keep credentials (link-local, and a few
    addresses more) only an allowed network leads.
    """
    for inner in unwrapped(address):
        if not (_public(inner) or _in_networks(inner, allow) or _named(inner, host, allow)):
            return False
    return True


def leads_inside(url: str, allow: Collection[str]) -> bool:
    """Whether the URL's host is plainly a forbidden address, so that nothing needs to be resolved to say so."""
    host = urlsplit(url).hostname or ""
    try:
        address = parsed("127.0.0.1" if host.rstrip(".") == "localhost" else host)
    except ValueError:
        return False
    return not permitted(address, host, allow)


def unwrapped(address: Address) -> list[Address]:
    """The address, and those it carries or stands for."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    carried: list[Address] = [inner for inner in (address.sixtofour, *(address.teredo or ())) if inner is not None]
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        carried.append(IPv4Address(int(address) & 0xFFFF_FFFF))
    return [*carried, address]


def parsed(text: str) -> Address:
    """An address as the resolver gives it; ValueError for anything else."""
    return ip_address(text.partition("%")[0])


def _public(address: Address) -> bool:
    is_local = isinstance(address, IPv6Address) and address.is_site_local  # deprecated, and still routed in places
    return address.is_global and not (address.is_multicast or address.is_reserved or is_local or address in _METADATA)


def _in_networks(address: Address, allow: Collection[str]) -> bool:
    networks = [ip_network(entry) for entry in allow if "/" in entry]
    return any(network.version == address.version and address in network for network in networks)


def _named(address: Address, host: str, allow: Collection[str]) -> bool:
    return host.lower().rstrip(".") in allow and not (
        address.is_link_local or address.is_multicast or address in _METADATA
    )
