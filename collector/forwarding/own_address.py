"""Does an endpoint lead back to a receiver of this process?"""

from __future__ import annotations

import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
_USUAL = {"http": 80, "https": 443}


def is_own(endpoint: str, host: str, ports: Collection[int]) -> bool:
    """Whether the URL reaches what listens on `host` and `ports`; False where a name cannot be resolved now."""
    url = urlsplit(endpoint)
    if (url.port or _USUAL[url.scheme]) not in ports:
        return False
    listening = _addresses(host)
    return any(_reaches(address, listening) for address in _addresses(url.hostname or ""))


def _reaches(address: Address, listening: Collection[Address]) -> bool:
    if any(own.is_unspecified for own in listening):
        return address.is_unspecified or _is_local(address)
    if address.is_unspecified:  # to connect to 0.0.0.0 is to connect to localhost
        return any(own.is_loopback for own in listening)
    return address in listening


def _addresses(host: str) -> set[Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    addresses = {ip_address(str(entry[4][0]).partition("%")[0]) for entry in found}
    return {getattr(address, "ipv4_mapped", None) or address for address in addresses}


def _is_local(address: Address) -> bool:
    """Whether an interface of this machine has it: only then can a socket be bound to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
