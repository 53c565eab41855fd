"""How the receivers listen and what they allow: addresses, TLS, token, limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_Count = Annotated[int, Field(gt=0)]
_Seconds = Annotated[float, Field(gt=0)]
_Port = Annotated[int, Field(ge=0, le=65535)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Section):
    """Bounds of both receivers together, except where a field says otherwise."""

    message_bytes: _Count = 16 << 20
    """One request, on the wire and again when decompressed."""
    requests: _Count = 64
    """Requests between their headers and their answer. Over gRPC each may take `message_bytes` before it counts."""
    bytes_in_flight: _Count = 128 << 20
    """Bodies held for those requests, over gRPC from when they have come in whole."""
    connections: _Count = 512
    """Open connections, of each receiver."""
    streams: _Count = 128
    """Streams of one HTTP/2 connection."""
    header_bytes: _Count = 16 << 10
    """Request line and headers, or the metadata of a call."""
    header_s: _Seconds = 10.0
    """From connecting, or the first byte of a further request, to the end of its headers."""
    body_s: _Seconds = 30.0
    """To receive a body."""
    keep_s: _Seconds = 30.0
    """To keep it; then the sender is told to try again."""
    idle_s: _Seconds = 120.0
    """A connection without a request is closed."""


class Tls(_Section):
    """PEM files. With `client_ca_file` only clients with a certificate of that authority get in."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None


class ReceiverSettings(_Section):
    """OTLP/gRPC and OTLP/HTTP. Port 0 lets the system choose; the token is named, never written here."""

    host: str = "127.0.0.1"
    grpc_port: _Port = 4317
    http_port: _Port = 4318
    tls: Tls | None = None
    token_file: Path | None = None
    token_env: str | None = None
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _one_token(self) -> Self:
        if self.token_file is not None and self.token_env is not None:
            raise ValueError("expected token_file or token_env, found both")
        return self


class MetricsSettings(_Section):
    """Where the collector's own `/metrics` is; port 0: any free one."""

    host: str = "127.0.0.1"
    port: _Port = 9464
