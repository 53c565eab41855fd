"""Where receivers, scraper and samplers put OTLP bytes: the spool, or in a test anything that keeps them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from correlator.model.records import Signal


class Full(Exception):
    """There is no room: nothing was kept, the sender should try again after `retry_after_s` seconds."""

    def __init__(self, reason: str, retry_after_s: float = 5.0) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class Sink(Protocol):
    """Takes serialized OTLP export requests."""

    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        """Keep one request; the future is done when it would survive a crash. Raises Full, and then kept nothing."""
