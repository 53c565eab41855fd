"""At which moments the watcher looks: now and, after a pause of any kind, at those that it missed.

Now is the moment up to which everything received is in the tables: with a loader that lags the latest minutes would be
empty, and nobody would look at them again when they are not.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from correlator.model.clock import JUMP_S, running_s
from correlator.model.durable import write_durably

MOST_MISSED = 12
"""Windows that are caught up on: an hour of five minutes each. What is older was nobody's to notice, which is said."""
LONGEST_NS = 3_600_000_000_000
"""Nor is caught up on what lies further back: incidents that closed before that are not told any more (`notify`)."""
PATIENCE = 3
"""Looks at one moment that may fail before it is passed over."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Moment:
    """When to look (Unix ns), how many missed windows come after it, and whether the clock was set since the last."""

    at: int
    further: int = 0
    jumped: bool = False


class Moments:
    """Remembers, in a file where one is given, when was looked last. `loaded`: up to when the tables are complete."""

    def __init__(
        self,
        window_s: float,
        path: Path | None = None,
        loaded: Callable[[], int | None] = lambda: None,
        clock: Callable[[], int] = time.time_ns,
        steady: Callable[[], float] = running_s,
    ) -> None:
        self._window, self._path, self._loaded = int(window_s * 1e9), path, loaded
        self._clock, self._steady = clock, steady
        self._apart = self._difference()
        self._last = _remembered(path)
        self._failures = 0

    def next(self) -> Moment:
        """When to look now; `looked` or `failed` says what came of it. OSError of `loaded` passes."""
        jumped = abs(self._difference() - self._apart) > JUMP_S * 1e9
        if jumped:
            self._apart, self._last = self._difference(), None
        return replace(moment(self._last, self._now(), self._window), jumped=jumped)

    def looked(self, at: int) -> None:
        """What lies before `at` was looked at, and needs no further look."""
        self._last, self._failures = at, 0
        self._keep(at)

    def failed(self, at: int) -> None:
        """The look at `at` failed. It is tried again, but not for ever: what came since wants to be looked at, too."""
        self._failures += 1
        if self._failures >= PATIENCE:
            LOG.error("a look failed %d times; nobody looks at what lay before it any more", self._failures)
            self.looked(at)

    def _keep(self, at: int) -> None:
        if self._path is not None:
            try:
                write_durably(self._path, str(at).encode())
            except OSError as error:
                LOG.warning("%s: when was looked last cannot be kept: %s", self._path, error.strerror)

    def _now(self) -> int:
        now, loaded = self._clock(), self._loaded()
        return now if loaded is None else min(now, loaded)

    def _difference(self) -> int:
        return self._clock() - int(self._steady() * 1e9)


def moment(last: int | None, now: int, window: int) -> Moment:
    """The first moment after `last` that leaves nothing out; `now` where that is within a window of it, or before."""
    if last is None or now - last <= window:
        return Moment(now)
    missed, most = (now - last - 1) // window, min(MOST_MISSED, LONGEST_NS // window)
    if missed > most:
        LOG.warning("nobody looked for %.0f s; only the latest %d windows are caught up on", (now - last) / 1e9, most)
    further = min(missed, most)
    return Moment(now - further * window, further)


def _remembered(path: Path | None) -> int | None:
    try:
        return None if path is None else int(path.read_bytes())
    except (OSError, ValueError):
        return None
