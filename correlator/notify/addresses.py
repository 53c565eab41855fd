"""Which addresses a host's name leads to now, and to which of them a connection may go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Sequence

from correlator.model.outbound import Address, parsed, permitted
from correlator.model.retrying import Later


async def addresses(host: str, port: int, allow: Collection[str]) -> Sequence[Address]:
    """Those that are permitted, in the resolver's order. Later when there is none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Later("the host's name cannot be resolved") from None
    good = [a for a in dict.fromkeys(parsed(str(entry[4][0])) for entry in found) if permitted(a, host, allow)]
    if not good:
        raise Later("the host has no public address, and `allow` does not name it: nothing was sent")
    return good
