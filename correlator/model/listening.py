"""A listening socket, or a plain word about why there is none."""

from __future__ import annotations

import socket

from correlator.model.errors import ConfigError

WAITING = 128
"""Connections that the system holds until they are accepted."""


def listening(what: str, host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 lets the system choose. Raises ConfigError naming `what` could not be served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=WAITING)
    except OSError as error:
        raise ConfigError(f"{what} cannot listen on {host}:{port}: {error.strerror}") from None
