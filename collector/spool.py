"""The spool: OTLP requests on disk, durable before they are acknowledged, until the correlator has loaded them.

One thread writes. It takes all that waits and makes it durable at once (group commit), so that everybody who waits
for a flush of the disk shares one.
"""

from __future__ import annotations

import fcntl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from collector.sink import Full
from collector.spooling.segment_folder import SEGMENT_BYTES, SegmentFolder
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from correlator.model.segments import size_of


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a spool holds: bytes on disk and in memory, and the age of its oldest segment in seconds."""

    capacity_bytes: int = 4 * 2**30
    waiting_bytes: int = 64 * 2**20
    age_s: float = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SpoolState:
    """What a spool holds, and what it has done since it was opened.

    `appended` and `refused` count requests, the latter by reason: capacity, waiting, age, disk, closed. `trouble` is
    why the last write failed, None when it did not. `recovered_cut_bytes` were never acknowledged.
    """

    bytes: int
    waiting_bytes: int
    segments: int
    oldest_age_s: float
    appended: int
    appended_bytes: int
    refused: Mapping[str, int]
    fsyncs: int
    recovered_cut_bytes: int
    trouble: str | None


_REASONS = {
    "capacity": "the spool is full: the correlator does not keep up",
    "waiting": "too much waits for the disk",
    "age": "the correlator has not loaded anything for too long",
    "closed": "the collector is stopping",
}

_Entry = tuple[bytes, Future[None]]


class Spool:
    """A folder of segments that one process owns; threads may share it."""

    def __init__(
        self,
        folder: Path,
        limits: Limits = Limits(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open `folder`, made when missing, and recover what a crash left.

        ConfigError when another process has it open or the disk refuses; InputError when a segment is not ours.
        """
        self._limits, self._clock = limits, clock
        self._lock, self._folder = _taken(folder, clock)
        self._held = self._folder.summary()
        self._wake = threading.Condition()
        self._queues: dict[Signal, list[_Entry]] = {signal: [] for signal in Signal}
        self._waiting_bytes = self._appended = self._appended_bytes = 0
        self._refused: Counter[str] = Counter()
        self._trouble: str | None = None
        self._closing = False
        self._writer = threading.Thread(target=self._run, name="spool", daemon=True)
        self._writer.start()

    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        """Keep one request; the future is done when it would survive a crash, or fails with Full. Raises Full."""
        cost = size_of([payload])
        with self._wake:
            if objection := self._objection(cost):
                self._refused[objection] += 1
                raise Full(_REASONS[objection])
            kept: Future[None] = Future()
            kept.set_running_or_notify_cancel()  # so that nobody can cancel what may be on disk already
            self._queues[signal].append((payload, kept))
            self._waiting_bytes += cost
            self._wake.notify()
        return kept

    def state(self) -> SpoolState:
        """How the spool is now."""
        with self._wake:
            held, oldest = self._held, self._held.oldest
            return SpoolState(
                bytes=held.bytes,
                waiting_bytes=self._waiting_bytes,
                segments=held.segments,
                oldest_age_s=0.0 if oldest is None else self._clock() - oldest,
                appended=self._appended,
                appended_bytes=self._appended_bytes,
                refused=dict(self._refused),
                fsyncs=held.fsyncs,
                recovered_cut_bytes=held.cut_bytes,
                trouble=self._trouble,
            )

    def close(self) -> None:
        """Write what waits, seal everything and give the folder free. Closing twice is safe."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._writer.join()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _objection(self, cost: int) -> str | None:
        """Why a request of `cost` bytes cannot be taken."""
        held, limits = self._held, self._limits
        if self._closing:
            return "closed"
        if held.bytes + self._waiting_bytes + cost > limits.capacity_bytes:
            return "capacity"
        if self._waiting_bytes and self._waiting_bytes + cost > limits.waiting_bytes:
            return "waiting"
        too_old = held.oldest is not None and self._clock() - held.oldest > limits.age_s
        return "age" if too_old else None

    def _run(self) -> None:
        while self._turn():
            pass
        self._folder.close()
        self._held = self._folder.summary()

    def _turn(self) -> bool:
        """One commit of all that waits; False after the last."""
        with self._wake:
            self._wake.wait_for(lambda: self._closing or any(self._queues.values()), self._folder.patience_s())
            queues, self._queues = self._queues, {signal: [] for signal in Signal}
            closing = self._closing
        for signal, queue in queues.items():
            for entries in _segmentwise(queue):
                self._commit(signal, entries)
        self._folder.tend()
        self._held = self._folder.summary()
        return not closing

    def _commit(self, signal: Signal, entries: Sequence[_Entry]) -> None:
        payloads = [payload for payload, _ in entries]
        try:
            self._folder.append(signal, payloads)
        except (OSError, MemoryError) as error:
            trouble = getattr(error, "strerror", None) or type(error).__name__
            self._settle(payloads, trouble)
            for _, kept in entries:
                kept.set_exception(Full(f"the spool cannot be written: {trouble}"))
            return
        self._settle(payloads, None)
        for _, kept in entries:
            kept.set_result(None)

    def _settle(self, payloads: Sequence[bytes], trouble: str | None) -> None:
        """Count `payloads` as kept, or as refused because of `trouble`."""
        size = size_of(payloads)
        with self._wake:
            self._held = self._folder.summary()
            self._waiting_bytes -= size
            self._trouble = trouble
            if trouble:
                self._refused["disk"] += len(payloads)
            else:
                self._appended += len(payloads)
                self._appended_bytes += size


def _segmentwise(queue: Sequence[_Entry]) -> Iterator[list[_Entry]]:
    """The queue in pieces that fit into a segment each; a larger request is a piece by itself."""
    piece: list[_Entry] = []
    size = 0
    for entry in queue:
        cost = size_of([entry[0]])
        if piece and size + cost > SEGMENT_BYTES:
            yield piece
            piece, size = [], 0
        piece.append(entry)
        size += cost
    if piece:
        yield piece


def _taken(folder: Path, clock: Callable[[], float]) -> tuple[BinaryIO, SegmentFolder]:
    """The folder, and an open file that holds its lock."""
    with ExitStack() as on_failure:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = on_failure.enter_context((folder / "lock").open("ab"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = SegmentFolder(folder, clock)
        except BlockingIOError:
            raise ConfigError(f"spool folder {folder}: another process has it open") from None
        except OSError as error:
            raise ConfigError(f"spool folder {folder}: {error.strerror}") from None
        on_failure.pop_all()
    return lock, taken
