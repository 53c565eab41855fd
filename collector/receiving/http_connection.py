"""One HTTP/1.1 connection on h11: everything that a client can stretch has an end.

Headers are bounded in size and time, bodies in time (how large one may be decides who reads it), and so are
idle time and the patience with a client that does not read its answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import h11

from collector.receiving.answers import Reason, Refused
from collector.receiving.settings import Limits

CHUNK_BYTES = 64 << 10
LINGER_S = 5.0
"""How long a client may take to read its answer, and to stop sending what nobody will read."""
AGAIN_S = 1.0
"""Who was too slow may try again after that."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Response:
    """What to answer."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """A request without its body; header names are in lower case, of several alike the last counts."""

    method: str
    path: str
    headers: dict[str, str]


Hold = Callable[[int], None]
"""Told of each piece of a body before it is kept; raises Refused to stop."""
ReadBody = Callable[[Hold], Awaitable[bytes]]
"""Receives the body. Raises Refused where it does not come, or is not what its headers say."""
Answer = Callable[[Head, ReadBody], Awaitable[Response]]
Refuse = Callable[[Refused], Response]
"""The answer to what is not HTTP."""


class Connection:
    """Answers requests one after the other; `idle` while it waits for one to begin."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits, answer: Answer, refuse: Refuse
    ) -> None:
        self.idle = False
        self.closing = False
        self._reader, self._writer, self._limits = reader, writer, limits
        self._answer, self._refuse = answer, refuse
        self._h11 = h11.Connection(h11.SERVER, limits.header_bytes)
        self._ended = False

    async def run(self) -> None:
        """Until either side has had enough. Raises OSError or TimeoutError where the client is gone."""
        wait_s = self._limits.header_s
        while await self._exchange(wait_s):
            self._h11.start_next_cycle()
            wait_s = self._limits.idle_s

    async def _exchange(self, wait_s: float) -> bool:
        """One request and its answer; whether another may follow."""
        try:
            request = await self._request(wait_s)
        except Refused as refused:
            await self._send(self._refuse(refused), with_body=True)
            return await self._discard()
        if request is None:
            return False
        head = _head(request)
        await self._send(await self._answered(head), with_body=head.method != "HEAD")
        if not self._received():
            return await self._discard()
        return (self._h11.our_state, self._h11.their_state) == (h11.DONE, h11.DONE)

    async def _request(self, wait_s: float) -> h11.Request | None:
        if not self._h11.trailing_data[0]:
            self.idle = True
            async with asyncio.timeout(wait_s):
                first = await self._reader.read(self._limits.header_bytes)
            self.idle = False
            self._h11.receive_data(first)
        try:
            async with asyncio.timeout(self._limits.header_s):
                event = await self._event(self._limits.header_bytes)
        except TimeoutError:
            raise Refused(Reason.SLOW, f"no whole headers within {self._limits.header_s:g} s", AGAIN_S) from None
        except h11.RemoteProtocolError as error:
            reason = Reason.LONG_HEADERS if error.error_status_hint == 431 else Reason.MALFORMED
            raise Refused(reason, str(error)) from None
        return event if isinstance(event, h11.Request) else None

    async def _event(self, chunk_bytes: int) -> Any:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            if self._h11.they_are_waiting_for_100_continue:
                self._writer.write(self._h11.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            received = await self._reader.read(chunk_bytes)
            self._ended = not received
            self._h11.receive_data(received)
        return event

    async def _answered(self, head: Head) -> Response:
        try:
            return await self._answer(head, self._body)
        except OSError:
            raise
        except Exception:
            _LOG.exception("no answer to %s", head.method)
            return Response(500)

    async def _body(self, hold: Hold) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_s):
                while not isinstance(event := await self._event(CHUNK_BYTES), h11.EndOfMessage):
                    hold(len(event.data))
                    body += event.data
        except TimeoutError:
            raise Refused(Reason.SLOW, f"no whole body within {self._limits.body_s:g} s", AGAIN_S) from None
        except h11.RemoteProtocolError as error:
            reason = Reason.CUT_OFF if self._ended else Reason.MALFORMED
            raise Refused(reason, f"not a whole body: {error}") from None
        return bytes(body)

    def _received(self) -> bool:
        """Whether the request has come to its end; of an unread body that has arrived nothing is kept."""
        with suppress(h11.RemoteProtocolError):
            while self._h11.their_state is h11.SEND_BODY and self._h11.next_event() is not h11.NEED_DATA:
                pass
        return self._h11.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)

    async def _send(self, response: Response, with_body: bool) -> None:
        closing = self.closing or not self._received()
        headers = [
            ("Content-Type", response.content_type),
            ("Content-Length", str(len(response.body))),
            ("Date", formatdate(usegmt=True)),
            *response.headers,
            *([("Connection", "close")] if closing else []),
        ]
        events = [h11.Response(status_code=response.status, headers=headers), h11.EndOfMessage()]
        if with_body:
            events.insert(1, h11.Data(response.body))
        self._writer.write(b"".join(self._h11.send(event) or b"" for event in events))
        async with asyncio.timeout(LINGER_S):
            await self._writer.drain()

    async def _discard(self) -> bool:
        """Let the client send a while what nobody reads: cut off, it might never see the answer."""
        if self._writer.can_write_eof():
            self._writer.write_eof()
        if not self._h11.they_are_waiting_for_100_continue:
            async with asyncio.timeout(LINGER_S):
                while await self._reader.read(CHUNK_BYTES):
                    pass
        return False


def _head(request: h11.Request) -> Head:
    headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
    return Head(request.method.decode("ascii"), request.target.decode("latin-1"), headers)
