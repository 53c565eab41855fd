"""What stands before every route: the token, the largest body, and the counting of requests."""

from __future__ import annotations

import hmac
import time
from collections.abc import Mapping

from prometheus_client import Counter, Histogram
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from correlator.api.problems import problem

OPEN = frozenset({"/healthz", "/readyz"})
"""Probes carry no token, and are told nothing but yes or no."""


DRAINED = 1024 * 1024
"""Bytes of a refused body that are read and dropped before the answer. A connection closed on bytes that nobody read is
reset, and the answer may be lost with it (RFC 9112, section 9.6)."""


class Token:
    """Refuses requests without the bearer token; it is compared in constant time."""

    def __init__(self, app: ASGIApp, token: SecretStr) -> None:
        self._app = app
        self._expected = f"Bearer {token.get_secret_value()}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["path"] in OPEN or self._allowed(scope):
            await self._app(scope, receive, send)
        else:
            await _drain(receive)
            refusal = problem(401, "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, rest = (given[0] if len(given) == 1 else b"").partition(b" ")
        normal = b"Bearer " + rest.strip() if scheme.lower() == b"bearer" else b""
        return hmac.compare_digest(normal, self._expected)


class Limited:
    """Refuses bodies beyond `limit` bytes, by what they say of their length and by what really comes.

    `larger` gives paths that take more.
    """

    def __init__(self, app: ASGIApp, limit: int, larger: Mapping[str, int]) -> None:
        self._app = app
        self._limit = limit
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        came = 0
        limit = self._larger.get(scope.get("path", ""), self._limit)
        told = f"a body has at most {limit} bytes"

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > limit:
                if message.get("more_body", False):
                    await _drain(receive)
                raise HTTPException(413, told)
            return message

        if scope["type"] == "http" and self._said(scope) > limit:
            await _drain(receive)
            await problem(413, told, {"Connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, counted, send)

    @staticmethod
    def _said(scope: Scope) -> int:
        said = [value for name, value in scope["headers"] if name == b"content-length"]
        return int(said[0]) if said and said[0].isdigit() else 0


async def _drain(receive: Receive) -> None:
    left = DRAINED
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


class Metered:
    """Counts requests and their seconds by route and status; paths that are no route are one."""

    def __init__(self, app: ASGIApp, requests: Counter, seconds: Histogram) -> None:
        self._app = app
        self._requests = requests
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, code = time.monotonic(), 500

        async def watched(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in ("GET", "POST") else "other"
            self._requests.labels(route, method, str(code)).inc()
            self._seconds.labels(route).observe(time.monotonic() - began)
