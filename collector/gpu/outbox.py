"""Between a sampler, which must keep its rhythm, and a sink, which may be full: samples are let go, events kept."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from concurrent.futures import Future
from concurrent.futures import wait as wait_for

from collector.sink import Full, Sink
from correlator.model.records import Signal

MAX_WAITING = 256
MAX_UNCONFIRMED = 1_024
_LOG = logging.getLogger(__name__)


class Outbox:
    """Gives requests to a sink without waiting for it.

    `counts`: requests, refused_requests (the sink was full), dropped_events (too many waited), unconfirmed_requests
    (not given, because the sink confirmed nothing for too long).
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self._events: deque[tuple[Signal, bytes]] = deque()
        self._unconfirmed: set[Future[None]] = set()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def sample(self, signal: Signal, payload: bytes) -> None:
        """Give a request that the next one replaces: refused, it is only counted."""
        self.flush()
        self._give(signal, payload, again=False)

    def event(self, signal: Signal, payload: bytes) -> None:
        """Give a request that must arrive: refused, it is given again with whatever comes next."""
        self._wait_in_line(signal, payload)
        self.flush()

    def flush(self) -> None:
        """Give what waits, oldest first, each once, until the sink is full."""
        for _ in range(len(self._events)):
            with self._lock:
                if not self._events:
                    return
                signal, payload = self._events.popleft()
            if not self._give(signal, payload, again=True):
                return

    def drain(self, timeout_s: float) -> None:
        """Wait until everything given is confirmed and nothing waits any more, at most `timeout_s`."""
        end = time.monotonic() + timeout_s
        while True:
            self.flush()
            with self._lock:
                unconfirmed = tuple(self._unconfirmed)
                waiting = len(self._events)
            left = end - time.monotonic()
            if left <= 0 or not (unconfirmed or waiting):
                break
            wait_for(unconfirmed, min(left, 0.1)) if unconfirmed else time.sleep(min(left, 0.1))
        if waiting:
            _LOG.error("%d events could not be kept: the sink is full", waiting)

    def _give(self, signal: Signal, payload: bytes, *, again: bool) -> bool:
        if len(self._unconfirmed) >= MAX_UNCONFIRMED:
            return self._refused("unconfirmed_requests", signal, payload, again)
        try:
            future = self._sink.put(signal, payload)
        except Full:
            return self._refused("refused_requests", signal, payload, again)
        with self._lock:
            self._counts["requests"] += 1
            self._unconfirmed.add(future)
        future.add_done_callback(lambda done: self._confirmed(done, signal, payload, again))
        return True

    def _confirmed(self, future: Future[None], signal: Signal, payload: bytes, again: bool) -> None:
        with self._lock:
            self._unconfirmed.discard(future)
        if future.cancelled() or future.exception() is not None:
            self._refused("refused_requests", signal, payload, again)

    def _refused(self, why: str, signal: Signal, payload: bytes, again: bool) -> bool:
        with self._lock:
            self._counts[why] += 1
        if again:
            self._wait_in_line(signal, payload, first=True)
        return False

    def _wait_in_line(self, signal: Signal, payload: bytes, *, first: bool = False) -> None:
        with self._lock:
            if len(self._events) >= MAX_WAITING:
                self._counts["dropped_events"] += 1
            elif first:
                self._events.appendleft((signal, payload))
            else:
                self._events.append((signal, payload))
