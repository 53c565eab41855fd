"""Who may send: bearer token and TLS, read once at the start. Nothing here ever shows a secret."""

from __future__ import annotations

import hmac
import os
import ssl
from pathlib import Path

import grpc

from collector.receiving.settings import ReceiverSettings, Tls
from correlator.model.errors import ConfigError


class Guard:
    """Lets requests with the right `Authorization: Bearer …` pass, or all if no token is set."""

    def __init__(self, token: bytes | None) -> None:
        self._token = token

    def admits(self, authorization: str | bytes | None) -> bool:
        """Whether a request with this header value, None without one, may be taken; in constant time."""
        if self._token is None:
            return True
        value = authorization.encode() if isinstance(authorization, str) else authorization or b""
        scheme, _, token = value.partition(b" ")
        return hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer"


def guard(settings: ReceiverSettings) -> Guard:
    """The guard of these settings. Raises ConfigError where the token cannot be read or is empty."""
    if settings.token_file is not None:
        return Guard(_sound(_read(settings.token_file), f"token_file {settings.token_file}"))
    if settings.token_env is not None:
        return Guard(_sound(os.environ.get(settings.token_env, "").encode(), f"environment {settings.token_env}"))
    return Guard(None)


def grpc_credentials(tls: Tls) -> grpc.ServerCredentials:
    """TLS for gRPC. Raises ConfigError where the files do not fit together."""
    ssl_context(tls)  # gRPC itself would say nothing until the first handshake
    authority = None if tls.client_ca_file is None else _read(tls.client_ca_file)
    pair = (_read(tls.key_file), _read(tls.cert_file))
    return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)


def ssl_context(tls: Tls) -> ssl.SSLContext:
    """TLS for HTTP. Raises ConfigError where the files do not fit together."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
        if tls.client_ca_file is not None:
            context.load_verify_locations(tls.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:  # SSLError is an OSError
        names = ", ".join(str(path) for path in (tls.cert_file, tls.key_file, tls.client_ca_file) if path is not None)
        raise ConfigError(f"tls: {names}: {error}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, expected one without a password")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def _sound(token: bytes, origin: str) -> bytes:
    token = token.strip()
    if not token or not all(0x21 <= byte <= 0x7E for byte in token):
        raise ConfigError(f"{origin}: expected a token of printable characters without spaces")
    return token
