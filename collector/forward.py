"""Sends the spool on to another collector by OTLP/HTTP, for a host without a correlator.

The oldest segment first, removed when every request in it was acknowledged. At least once: after a crash, or when an
answer is lost, requests are sent again.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from collector.forwarding.post import Client
from collector.forwarding.segment import joined, settle
from collector.settings import ForwardSettings
from correlator.model.errors import InputError
from correlator.model.records import Signal
from correlator.model.retrying import JITTER, LONGEST_PAUSE_S, Later, Never, pauses
from correlator.model.segments import Contents, SegmentName, read_segment, segment_names
from correlator.model.telemetry import Spans, untraced

IN_FLIGHT = 8
"""Requests of a segment that are under way together."""
LOOK_EVERY_S = 0.25
SET_ASIDE_S = 60.0
"""After so long a segment that could not be read is tried again."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ForwarderState:
    """Why the last request was not acknowledged, None when all is well, and counts since the start.

    Keys of `counts`: segments, requests (of senders, acknowledged by the other side), posts (requests to the other
    side, in each several of those), sent_bytes, retries, quarantined_requests, discarded_requests (no room in
    quarantine), rejected_records (by the other side, of acknowledged requests), lost_bytes (damaged on disk),
    unreadable_segments, internal_errors.
    """

    trouble: str | None
    counts: dict[str, int]


class Forwarder:
    """Forwards from `start` to `stop`. ConfigError where TLS files or headers cannot be used."""

    def __init__(
        self,
        folder: Path,
        settings: ForwardSettings,
        chance: Callable[[], float] = random.random,
        spans: Spans = untraced,
    ) -> None:
        self._folder, self._gzip, self._chance, self._spans = folder, settings.gzip, chance, spans
        self._client = Client(settings)
        self._ending = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._set_aside: dict[SegmentName, float] = {}
        self._trouble: str | None = None
        self._refusal = ""
        self._counts: Counter[str] = Counter()

    def start(self) -> None:
        """Begin, in the running loop; once only."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self, grace_s: float) -> None:
        """Send what is sealed within `grace_s`, unless there is trouble already. The rest stays in the spool."""
        self._ending.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=0 if self._trouble else grace_s)
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._client.close()

    def state(self) -> ForwarderState:
        """How forwarding goes."""
        return ForwarderState(self._trouble, dict(self._counts))

    async def _run(self) -> None:
        while True:
            try:
                found = await self._turn()
            except Exception:
                self._counts["internal_errors"] += 1
                self._tell("unexpected error, see the log")
                _LOG.exception("forwarding failed in an unexpected way")
                await asyncio.sleep(LONGEST_PAUSE_S)
                continue
            if not found and self._ending.is_set():
                return
            if not found:
                await self._rest()

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY_S):
                await self._ending.wait()

    async def _turn(self) -> bool:
        """Forward the oldest segment; False when there is none."""
        now = asyncio.get_running_loop().time()
        self._set_aside = {name: since for name, since in self._set_aside.items() if now - since < SET_ASIDE_S}
        names = await asyncio.to_thread(segment_names, self._folder)
        name = next((name for name in names if name.sealed and name not in self._set_aside), None)
        if name is None:
            return False
        try:
            contents = await asyncio.to_thread(read_segment, self._folder / str(name))
        except (OSError, InputError) as error:
            self._leave(name, error, now)
            return True
        with self._spans("forward") as span:
            refused = await self._send(name.signal, contents.payloads)
            kept = await self._settled(name, contents, refused)
            span |= {"tollens.signal": name.signal, "tollens.requests": len(contents.payloads)}
        self._counts.update(
            segments=1,
            quarantined_requests=kept,
            discarded_requests=len(refused) - kept,
            lost_bytes=contents.lost_bytes + contents.torn_bytes,
        )
        if refused:
            told = len(refused), name, kept, self._refusal
            _LOG.error("%d requests of %s are refused for good, %d of them are in quarantine: %s", *told)
        self._tell(None)
        return True

    def _leave(self, name: SegmentName, error: Exception, now: float) -> None:
        if not isinstance(error, FileNotFoundError):
            self._set_aside[name] = now
            self._counts["unreadable_segments"] += 1
            _LOG.error("segment %s cannot be read: %s", name, error)

    async def _send(self, signal: Signal, payloads: Sequence[bytes]) -> list[bytes]:
        """Send all; those that are refused for good."""
        refused: list[bytes] = []
        left = joined(payloads)

        async def work() -> None:
            for together in left:
                refused.extend(await self._refused(signal, together))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(IN_FLIGHT, len(payloads))):
                group.create_task(work())
        return refused

    async def _refused(self, signal: Signal, together: Sequence[bytes]) -> list[bytes]:
        """Send requests as one; if it is refused for good, find those for whose sake it is."""
        if await self._is_taken(signal, b"".join(together)):
            self._counts["requests"] += len(together)
            return []
        if len(together) == 1:
            return [*together]
        middle = len(together) // 2
        return [
            *await self._refused(signal, together[:middle]),
            *await self._refused(signal, together[middle:]),
        ]

    async def _is_taken(self, signal: Signal, payload: bytes) -> bool:
        """Send one request until it is acknowledged, or refused for good."""
        body = await asyncio.to_thread(gzip.compress, payload, 1) if self._gzip else payload
        rests = pauses(self._chance)
        while True:
            try:
                rejected = await self._client.post(signal, body)
            except Later as later:
                self._counts["retries"] += 1
                self._tell(str(later))
                await asyncio.sleep(max(next(rests), later.after_s * (1 + JITTER * self._chance())))
            except Never as never:
                self._refusal = str(never)
                return False
            else:
                self._counts.update(posts=1, sent_bytes=len(body), rejected_records=rejected)
                return True

    async def _settled(self, name: SegmentName, contents: Contents, refused: Sequence[bytes]) -> int:
        """Have done with a segment; how many of its requests are in quarantine.

        Tried until the disk allows it: to go on would be to send the segment again and again.
        """
        rests = pauses(self._chance)
        while True:
            try:
                return await asyncio.to_thread(settle, self._folder, name, contents.mark, refused)
            except OSError as error:
                self._tell(f"the spool cannot be written: {error.strerror}")
                await asyncio.sleep(next(rests))

    def _tell(self, trouble: str | None) -> None:
        if trouble is not None and self._trouble is None:
            _LOG.warning("forwarding is held up: %s", trouble)
        if trouble is None and self._trouble is not None:
            _LOG.info("forwarding goes on")
        self._trouble = trouble
