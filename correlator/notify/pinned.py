"""One POST, or call of gRPC, to a checked address: the host is resolved once, judged, and connected to there.

Name and certificate are still the host's. Redirects are not followed, proxies of the environment not used, and of an
answer only the beginning is read. It is httpcore, not httpx, which logs every URL: some of them are secrets.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection, Iterable
from typing import Any

import httpcore

from correlator.model.notices import HttpRequest
from correlator.model.outbound import http_url
from correlator.model.retrying import Later, Never, retry_after_s
from correlator.notify.addresses import addresses
from correlator.notify.answers import MAX_ANSWER_BYTES, hidden, private, said
from correlator.notify.calling import call

KEEPALIVE_S = 2.0
_LATER = frozenset({408, 425, 429})
_OURS = {"User-Agent": "tollens", "Accept-Encoding": "identity"}


class Poster:
    """Posts to one target. `allow` are private networks and host names that may be reached."""

    def __init__(
        self, context: ssl.SSLContext, allow: Collection[str], connect_timeout_s: float, timeout_s: float
    ) -> None:
        self._context, self._allow, self._timeout_s = context, allow, timeout_s
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

    async def post(self, request: HttpRequest, secret: str = "") -> bytes:
        """Send it: the answer when it was taken. Raises Later or Never, whose text holds no secret."""
        try:
            async with asyncio.timeout(self._timeout_s):
                if request.url.startswith("grpc"):
                    return await call(request, secret, self._context, self._allow, self._timeout_s)
                status, headers, answer = await self._answer(request)
        except TimeoutError:
            raise Later(f"no answer within {self._timeout_s:g} s") from None
        except httpcore.TimeoutException as error:
            raise Later(f"no answer in time ({type(error).__name__})") from None
        except httpcore.ConnectError as error:
            raise Later(hidden(f"cannot connect: {error}", private(request, secret))) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError, UnicodeError, ValueError) as error:
            raise Later(f"the request failed ({type(error).__name__})") from None
        if 200 <= status < 300:
            return answer
        if 400 <= status < 500 and status not in _LATER and not (status == 413 and "retry-after" in headers):
            raise Never(f"HTTP status {status}{said(answer.decode(errors='replace'), private(request, secret))}")
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
        *others, last = await addresses(host, port, self._allow)
        for address in others:
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(str(last), port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """For httpcore."""
        await self._inner.sleep(seconds)


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
