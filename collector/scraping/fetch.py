"""One page of metrics over HTTP: bounded in time, in bytes on the wire and in bytes after decompression."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import httpx

from collector.scraping.targets import Target

MAX_TOKEN_BYTES = 64 << 10
_ACCEPT = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
"""Without `escaping`, prometheus_client would turn the colon of `vllm:…` into an underscore."""
_GZIP = 16 + zlib.MAX_WBITS


class ScrapeError(Exception):
    """A scrape that failed. `kind` is one of few words to count by, the text says what was expected."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Body:
    """A page as it came, decompressed."""

    content: bytes
    openmetrics: bool


def client_for(target: Target) -> httpx.AsyncClient:
    """A client for one target. Raises ScrapeError if its certificates cannot be used.

    Each scrape has a connection of its own: a server that drops an idle one just then would look like one that is down.
    """
    try:
        context = _context(target.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ScrapeError("tls", f"{target.ca_file}: expected certificates ({type(error).__name__})") from None
    return httpx.AsyncClient(
        verify=context,
        trust_env=False,
        follow_redirects=True,
        max_redirects=3,
        timeout=target.timeout_s,
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=0),
    )


async def fetch(client: httpx.AsyncClient, target: Target) -> Body:
    """The target's page. Raises ScrapeError; the time limit of the whole is the caller's."""
    headers = {
        "Accept": _ACCEPT,
        "Accept-Encoding": "gzip",
        "User-Agent": "tollens",
        "X-Prometheus-Scrape-Timeout-Seconds": f"{target.timeout_s:g}",
    }
    if target.bearer_token_file is not None:
        headers["Authorization"] = f"Bearer {_token(target.bearer_token_file)}"
    try:
        async with client.stream("GET", target.url, headers=headers) as response:
            if response.status_code != 200:
                raise ScrapeError("status", f"expected HTTP status 200, found {response.status_code}")
            content = await _content(response, target.body_limit_bytes)
    except httpx.TimeoutException:
        raise TimeoutError from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ScrapeError("connection", f"{type(error).__name__}: {error}"[:300]) from None
    openmetrics = response.headers.get("content-type", "").startswith("application/openmetrics-text")
    if openmetrics and not content.rstrip().endswith(b"# EOF"):
        raise ScrapeError("truncated", "expected a page that ends with # EOF")
    return Body(content, openmetrics)


async def _content(response: httpx.Response, limit: int) -> bytes:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("gzip", "identity"):
        raise ScrapeError("encoding", f"expected the encoding gzip or none, found {encoding[:40]!r}")
    chunks = response.aiter_raw()
    parts, size = [], 0
    async for part in _unzipped(chunks, limit) if encoding == "gzip" else chunks:
        size += len(part)
        if size > limit:
            raise ScrapeError("body_limit", f"expected a page of at most {limit} bytes")
        parts.append(part)
    return b"".join(parts)


async def _unzipped(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """The content of a gzip stream, in parts of at most limit + 1 bytes, so that a bomb cannot go off."""
    decoder = zlib.decompressobj(_GZIP)
    async for chunk in chunks:
        while chunk and not decoder.eof:
            try:
                yield decoder.decompress(chunk, limit + 1)
            except zlib.error:
                raise ScrapeError("encoding", "expected a sound gzip stream") from None
            chunk = decoder.unconsumed_tail
    if not decoder.eof:
        raise ScrapeError("truncated", "expected a whole gzip stream")


def _token(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            token = stream.read(MAX_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ScrapeError("token", f"{path}: expected a readable token ({type(error).__name__})") from None
    if not token or not token.isprintable():
        raise ScrapeError("token", f"{path}: expected one line with a token")
    return token


@lru_cache(maxsize=32)
def _context(ca_file: Path | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)
