"""One POST to a checked address: the host is resolved once, judged, and the connection goes to that very address.

Name and certificate are still the host's. Redirects are not followed, proxies of the environment not used, and of an
answer only the beginning is read. It is httpcore, not httpx, which logs every URL: some of them are secrets.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpcore

from correlator.model.notices import HttpRequest
from correlator.model.outbound import Address, http_url, parsed, permitted
from correlator.model.retrying import Later, Never, retry_after_s

MAX_ANSWER_BYTES = 64 << 10
SAID = 200
"""Characters of an answer that are kept to say why it refused."""
SHORTEST_SECRET = 6
"""Shorter values of a request are no secrets: to hide them would hide words."""
KEEPALIVE_S = 2.0
_LATER = frozenset({408, 425, 429})
_OURS = {"User-Agent": "tollens", "Accept-Encoding": "identity"}


class Poster:
    """Posts to one target. `allow` are private networks and host names that may be reached."""

    def __init__(
        self, context: ssl.SSLContext, allow: Collection[str], connect_timeout_s: float, timeout_s: float
    ) -> None:
        self._timeout_s = timeout_s
        self._timeouts = {"connect": connect_timeout_s, "read": timeout_s, "write": timeout_s, "pool": timeout_s}
        self._http = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=Guarded(allow),
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def post(self, request: HttpRequest, secret: str = "") -> None:
        """Send it; returns when it was taken. Raises Later or Never, whose text holds no secret."""
        try:
            async with asyncio.timeout(self._timeout_s):
                status, headers, answer = await self._answer(request)
        except TimeoutError:
            raise Later(f"no answer within {self._timeout_s:g} s") from None
        except httpcore.TimeoutException as error:
            raise Later(f"no answer in time ({type(error).__name__})") from None
        except httpcore.ConnectError as error:
            raise Later(_hidden(f"cannot connect: {error}", request, secret)) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError, UnicodeError, ValueError) as error:
            raise Later(f"the request failed ({type(error).__name__})") from None
        if 200 <= status < 300:
            return
        if 400 <= status < 500 and status not in _LATER:
            raise Never(_hidden(f"HTTP status {status}{_said(answer)}", request, secret))
        followed = ": redirects are not followed" if 300 <= status < 400 else ""
        raise Later(f"HTTP status {status}{followed}", retry_after_s(headers))

    async def _answer(self, request: HttpRequest) -> tuple[int, dict[str, str], bytes]:
        headers = list({**_OURS, **request.headers}.items())
        async with self._http.stream(
            "POST", _checked(request.url), headers=headers, content=request.body, extensions={"timeout": self._timeouts}
        ) as response:
            told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            return response.status, told, await _beginning(response)


class Guarded(httpcore.AsyncNetworkBackend):
    """Connects to addresses that are permitted, to no others, and to no sockets of the file system."""

    def __init__(self, allow: Collection[str]) -> None:
        self._allow = allow
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of the host that answers. Later when none is permitted."""
        *others, last = await self._addresses(host, port)
        for address in others:
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(str(last), port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """For httpcore."""
        await self._inner.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise Later("the host's name cannot be resolved") from None
        addresses = dict.fromkeys(parsed(str(entry[4][0])) for entry in found)
        good = [address for address in addresses if permitted(address, host, self._allow)]
        if not good:
            raise Later("the host has no public address, and `allow` does not name it: nothing was sent")
        return good


def _checked(url: str) -> str:
    """The URL of a request: it may come from a secret, so it is judged here, too."""
    try:
        return http_url(url)
    except ValueError as error:
        raise Later(f"the target's URL: {error}") from None


async def _beginning(response: httpcore.Response) -> bytes:
    """The answer, or as much of it as anybody needs."""
    content = b""
    async for chunk in response.aiter_stream():
        content += chunk
        if len(content) >= MAX_ANSWER_BYTES:
            break
    return content[:MAX_ANSWER_BYTES]


def _said(answer: bytes) -> str:
    text = "".join(sign if sign.isprintable() else " " for sign in answer[: 4 * SAID].decode(errors="replace"))
    return f": {' '.join(text.split())[:SAID]}" if text.strip() else ""


def _hidden(text: str, request: HttpRequest, secret: str) -> str:
    """The text without what an answer may have repeated of secret, address and headers."""
    for word in sorted(_private(request, secret), key=len, reverse=True):
        text = text.replace(word, "…")
    return text


def _private(request: HttpRequest, secret: str) -> Iterable[str]:
    parts = urlsplit(request.url)
    values = [secret, request.url, parts.path, parts.query]
    for value in (*secret.split(), *request.headers.values()):
        values += [value, *value.split()]
    return {value for value in values if len(value) >= SHORTEST_SECRET}
