"""The line of one target: its notices one after the other, each again and again until it is taken or given up."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from traceback import format_exception

from correlator.model.deliveries import Delivery
from correlator.model.errors import ConfigError
from correlator.model.notices import Attempt, HttpRequest, Notice
from correlator.model.retrying import JITTER, LONGEST_PAUSE_S, Later, Never, pauses
from correlator.notify.answers import hidden, private
from correlator.notify.outbox import Outbox
from correlator.notify.pinned import Poster

LOOK_EVERY_S = 0.5
"""Between two looks for something to deliver."""
MINUTE_S = 60.0
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where to and how: an exporter with its settings, bound in the wiring.

    `requests` raises ValueError when the notice cannot be told; `secret` raises ConfigError when it cannot be read.
    `answered` reads what was answered to a request that was taken: the thread of the incident there, or nothing.
    """

    name: str
    requests: Callable[[Notice, Attempt], Sequence[HttpRequest]]
    secret: Callable[[], str] = field(repr=False)
    context: ssl.SSLContext = field(repr=False)
    answered: Callable[[bytes], str] = lambda answer: ""
    allow: tuple[str, ...] = ()
    connect_timeout_s: float = 5.0
    timeout_s: float = 10.0
    per_minute: int = 60
    give_up_s: float = 86_400.0


class Line:
    """Delivers to one target. `trouble` is why the latest attempt failed."""

    def __init__(self, outbox: Outbox, target: Target, chance: Callable[[], float]) -> None:
        self._outbox, self._target, self._chance = outbox, target, chance
        self._rests = pauses(chance)
        self._sent: deque[float] = deque(maxlen=target.per_minute)
        self.trouble: str | None = None

    async def run(self, ending: asyncio.Event) -> None:
        """Deliver until told to end."""
        target = self._target
        poster = Poster(target.context, target.allow, target.connect_timeout_s, target.timeout_s)
        try:
            rest_s = await self._safely(asyncio.to_thread(self._outbox.rest_s, target.name))
            while not await _within(rest_s, ending):
                rest_s = await self._safely(self._turn(poster))
        finally:
            await poster.close()

    async def _safely(self, turn: Awaitable[float]) -> float:
        try:
            return await turn
        except Exception as error:
            self._tell(f"unexpected error ({type(error).__name__}), see the log")
            LOG.exception("target %s: delivering failed in an unexpected way", self._target.name)
            return LONGEST_PAUSE_S

    async def _turn(self, poster: Poster) -> float:
        """One attempt, if something waits; the seconds until the next."""
        found = await asyncio.to_thread(self._outbox.next, self._target.name)
        if found is None:
            return LOOK_EVERY_S
        if (wait_s := self._too_early_s()) > 0:
            self._outbox.held_back(self._target.name)
            return min(wait_s, MINUTE_S)
        delivery, notice = found
        self._sent.append(time.monotonic())
        try:
            thread = await self._send(poster, notice)
        except Later as later:
            asked_s = later.after_s * (1 + JITTER * self._chance())
            await self._failed(delivery, str(later), dead=self._is_old(delivery), rest_s=asked_s)
            return max(next(self._rests), asked_s)
        except Never as never:
            await self._failed(delivery, str(never), dead=True)
        else:
            await asyncio.to_thread(self._outbox.delivered, delivery, thread)
            self._tell(None)
        self._rests = pauses(self._chance)
        return 0.0

    async def _send(self, poster: Poster, notice: Notice) -> str:
        """All requests of the notice: the thread they are in, if any. Raises Later or Never."""
        thread = await asyncio.to_thread(self._outbox.thread, self._target.name, notice.incident.id)
        try:
            secret = await asyncio.to_thread(self._target.secret)
        except ConfigError as error:
            raise Later(str(error)) from None
        try:
            requests = self._target.requests(notice, Attempt(at=time.time_ns(), secret=secret, thread=thread))
        except ValueError as error:
            raise Never(hidden(f"the notice cannot be told: {error}", [secret])) from None
        except Exception as error:
            trace = hidden("".join(format_exception(error)), [secret])
            LOG.error("target %s: the notice %s cannot be told\n%s", self._target.name, notice.id, trace)
            raise Never(f"the notice cannot be told ({type(error).__name__}), see the log") from None
        refused: Never | None = None
        for request in requests:  # what is wrong with one body says nothing of the next
            answer = await poster.post(request, secret)
            try:
                thread = self._answered(answer, private(request, secret)) or thread
            except Never as never:
                refused = refused or never
        if refused is not None:
            raise refused
        return thread

    def _answered(self, answer: bytes, words: Collection[str]) -> str:
        """The thread that an answer names. Raises Later or Never, without these words."""
        try:
            return self._target.answered(answer)
        except Never as never:
            raise Never(hidden(str(never), words)) from None
        except Later as later:
            raise Later(hidden(str(later), words), later.after_s) from None
        except Exception as error:  # it was taken, whatever we make of the answer
            LOG.error("target %s: its answer cannot be read (%s)", self._target.name, type(error).__name__)
            return ""

    async def _failed(self, delivery: Delivery, reason: str, *, dead: bool, rest_s: float = 0.0) -> None:
        self._tell(reason)
        if dead:
            LOG.error("target %s: notice %s is a dead letter: %s", delivery.target, delivery.notice_id, reason)
        await asyncio.to_thread(self._outbox.failed, delivery, reason, dead=dead, rest_s=rest_s)

    def _too_early_s(self) -> float:
        """Seconds until the rate limit allows another attempt."""
        if len(self._sent) < self._target.per_minute:
            return 0.0
        return self._sent[0] + MINUTE_S - time.monotonic()

    def _is_old(self, delivery: Delivery) -> bool:
        return time.time_ns() - delivery.queued > self._target.give_up_s * 1e9

    def _tell(self, trouble: str | None) -> None:
        if trouble is not None and self.trouble is None:
            LOG.warning("target %s is not reached: %s", self._target.name, trouble)
        if trouble is None and self.trouble is not None:
            LOG.info("target %s is reached again", self._target.name)
        self.trouble = trouble


async def _within(rest_s: float, ending: asyncio.Event) -> bool:
    """Wait so long, or until it is to end: whether it is."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ending.wait(), rest_s)
    return ending.is_set()
