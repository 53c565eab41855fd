"""Accepts HTTP connections, never more than a limit at a time; those still in a TLS handshake count."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from collector.receiving.http_connection import CHUNK_BYTES, LINGER_S, Answer, Connection, Refuse
from collector.receiving.settings import Limits


@dataclass(slots=True)
class HttpServer:
    """A running server. Runs in the asyncio loop that started it."""

    listening: socket.socket
    tls: ssl.SSLContext | None
    limits: Limits
    answer: Answer
    refuse: Refuse
    turned_away: Callable[[], None]
    """Told of each connection beyond the limit."""
    _open: dict[asyncio.Task[None], Connection | None] = field(default_factory=dict)
    _accepting: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.listening.getsockname()[1])

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._open)

    def start(self) -> None:
        """Begin to accept."""
        self.listening.setblocking(False)
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    async def stop(self, grace_s: float) -> None:
        """Take no further connections, let requests in flight end within `grace_s` seconds, then cut them off."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        self.listening.close()
        for task, connection in self._open.items():
            if connection is None or connection.idle:
                task.cancel()
            else:
                connection.closing = True
        await self._ended(grace_s)
        for task in self._open:
            task.cancel()
        await self._ended(None)

    async def _ended(self, timeout_s: float | None) -> None:
        if self._open:
            await asyncio.wait(tuple(self._open), timeout=timeout_s)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self.listening)
            except OSError:  # no file descriptor is free, or the client is gone
                await asyncio.sleep(0.1)
                continue
            if len(self._open) >= self.limits.connections:
                connection.close()
                self.turned_away()
                continue
            task = loop.create_task(self._serve(connection))
            self._open[task] = None
            task.add_done_callback(self._open.pop)

    async def _serve(self, accepted: socket.socket) -> None:
        with accepted, suppress(OSError, TimeoutError):
            loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(CHUNK_BYTES)
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=self.tls,
                ssl_handshake_timeout=None if self.tls is None else self.limits.header_s,
            )
            await self._converse(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, self.limits, self.answer, self.refuse)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = connection
        try:
            await connection.run()
        finally:
            writer.close()
            try:
                async with asyncio.timeout(LINGER_S):
                    await writer.wait_closed()
            finally:
                writer.transport.abort()
