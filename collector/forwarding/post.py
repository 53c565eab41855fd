"""One OTLP/HTTP request to another collector, and what its answer means: taken, later, or never."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import httpx
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.settings import ForwardSettings, ForwardTls
from correlator.model.endpoints import read_headers
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from correlator.model.retrying import Later, Never, retry_after_s

MAX_ANSWER_BYTES = 64 << 10
CONNECTIONS = 8

_PROTOBUF = "application/x-protobuf"
_OVERLOADED = frozenset({408, 429, 502, 503, 504})
_ABOUT_THE_SENDER = frozenset({401, 403, 404, 405, 407, 415})
"""OTLP calls these final, but they judge token, address or encoding: when that is mended, the same request is taken."""


class Client:
    """Knows the other collector. ConfigError where TLS files or headers cannot be used."""

    def __init__(self, settings: ForwardSettings) -> None:
        self._settings = settings
        self._ours = {"Content-Type": _PROTOBUF, "Accept-Encoding": "identity", "User-Agent": "tollens"}
        if settings.gzip:
            self._ours["Content-Encoding"] = "gzip"
        _headers(settings.headers_file)
        self._http = httpx.AsyncClient(
            verify=_context(settings.tls),
            trust_env=False,
            timeout=settings.timeout_s,
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def post(self, signal: Signal, body: bytes) -> int:
        """Send a request; when it is acknowledged, how many of its records were rejected. Raises Later or Never."""
        url = f"{self._settings.endpoint}/v1/{signal}"
        try:
            path = self._settings.headers_file
            headers = await asyncio.to_thread(_headers, path) if path else httpx.Headers()
            headers.update(self._ours)
            async with (
                asyncio.timeout(self._settings.timeout_s),
                self._http.stream("POST", url, content=body, headers=headers) as response,
            ):
                answer = await _beginning(response)
        except TimeoutError:
            raise Later(f"no answer within {self._settings.timeout_s:g} s") from None
        except ConfigError as error:
            raise Later(str(error)) from None
        except (httpx.HTTPError, OSError) as error:
            raise Later(f"{type(error).__name__}: {error}"[:300]) from None
        return _meaning(response, answer)


async def _beginning(response: httpx.Response) -> bytes:
    """The answer, or as much of it as anybody needs."""
    content = b""
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            break
    return content[:MAX_ANSWER_BYTES]


def _meaning(response: httpx.Response, answer: bytes) -> int:
    status, media_type = response.status_code, response.headers.get("content-type", "").partition(";")[0].strip()
    if response.is_success and (not answer or media_type in (_PROTOBUF, "application/json")):
        return _rejected(answer) if media_type == _PROTOBUF else 0
    reason = f"HTTP status {status}"
    if media_type == _PROTOBUF and not response.is_success:
        reason += _said(answer)
    if response.is_success:
        raise Later(f"{reason} with {media_type[:40] or 'an unknown type'}, which is no answer of OTLP")
    if response.is_redirect or status in _ABOUT_THE_SENDER or status in _OVERLOADED:
        raise Later(reason, retry_after_s(response.headers))
    raise Never(reason)


def _rejected(answer: bytes) -> int:
    """Partial success is alike for all signals; only the field has another name."""
    try:
        return max(0, ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)
    except DecodeError:
        raise Later("the answer is no OTLP response") from None


def _said(answer: bytes) -> str:
    try:
        message = Status.FromString(answer).message
    except DecodeError:
        return ""
    return f": {' '.join(message.split())[:200]}" if message else ""


def _headers(path: Path | None) -> httpx.Headers:
    return httpx.Headers(read_headers(path, "forward.headers_file"))


def _context(tls: ForwardTls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
    except (OSError, ValueError) as error:
        names = ", ".join(str(path) for path in (tls.ca_file, tls.cert_file, tls.key_file) if path is not None)
        raise ConfigError(f"forward.tls: {names}: {error}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted, expected one without a password")
