"""The folder of a spool as its one writer sees it: segments that grow, and those that wait for the loader.

Not for threads to share; a `Summary` is a value that others may read.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from collector.spooling.segment_file import SegmentFile, recover
from correlator.model.records import Signal
from correlator.model.segments import SegmentName, segment_names, size_of

SEGMENT_BYTES = 16 * 2**20
"""A segment does not grow beyond this, unless a single request is larger."""

SEAL_AFTER_S = 1.0
LAGGING_SEGMENTS = 100
LAGGING_SEAL_AFTER_S = 60.0
"""With LAGGING_SEGMENTS waiting for the loader, further small ones would help nobody."""

SURVEY_EVERY_S = 0.5
"""How often it is looked up what the loader has removed."""

MOST_UNSEALED = 8
"""So many segments the disk may refuse to seal before no new one is begun; each holds a file open."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What the folder holds and what was done to it. `oldest` is a time of the folder's clock."""

    bytes: int
    segments: int
    oldest: float | None
    fsyncs: int
    cut_bytes: int


class SegmentFolder:
    """Segments of all signals, numbered in the order in which they were begun."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        """Take `folder` over and seal what a crash left open. OSError; InputError for a segment that is not ours."""
        self._folder, self._clock = folder, clock
        self._growing: dict[Signal, SegmentFile] = {}
        self._unsealed: list[SegmentFile] = []
        self._sealed: dict[SegmentName, tuple[int, float]] = {}
        self._sealed_bytes = self._fsyncs = self._cut_bytes = 0
        self._surveyed = clock()
        names = segment_names(folder)
        self._next = names[-1].number + 1 if names else 0
        for name in names:
            self._adopt(name)

    def append(self, signal: Signal, payloads: Sequence[bytes]) -> None:
        """Make `payloads` durable in one segment: all of them, or OSError and none."""
        try:
            segment = self._with_room(signal, size_of(payloads))
            self._fsyncs += 1 if segment.size else 2
            segment.append(payloads)
        except OSError:
            self._retire(signal)
            raise

    def tend(self) -> None:
        """Seal what is old enough, and forget what the loader has removed."""
        for signal in [signal for signal, segment in self._growing.items() if self._due(segment) <= self._clock()]:
            self._retire(signal)
        if self._clock() - self._surveyed >= SURVEY_EVERY_S:
            self._surveyed = self._clock()
            self._survey()
            self._seal()

    def close(self) -> None:
        """Seal everything. What the disk refuses now is sealed when the folder is opened again."""
        for signal in list(self._growing):
            self._retire(signal)
        for segment in self._unsealed:
            segment.close()

    def patience_s(self) -> float | None:
        """In how many seconds `tend` has something to do; None when there is nothing to wait for."""
        times = [self._due(segment) for segment in self._growing.values()]
        if self._sealed or self._unsealed:
            times.append(self._surveyed + SURVEY_EVERY_S)
        return max(0.0, min(times) - self._clock()) if times else None

    def summary(self) -> Summary:
        """The folder as it is now."""
        unsealed = [*self._growing.values(), *self._unsealed]
        since = [segment.since for segment in unsealed] + [since for _, since in self._sealed.values()][:1]
        return Summary(
            bytes=self._sealed_bytes + sum(segment.size for segment in unsealed),
            segments=len(self._sealed) + len(unsealed),
            oldest=min(since, default=None),
            fsyncs=self._fsyncs,
            cut_bytes=self._cut_bytes,
        )

    def _with_room(self, signal: Signal, size: int) -> SegmentFile:
        segment = self._growing.get(signal)
        if segment and segment.size + size > SEGMENT_BYTES:
            self._retire(signal)
            segment = None
        if segment is None:
            if len(self._unsealed) >= MOST_UNSEALED:
                raise OSError(errno.EIO, "the disk refuses to seal earlier segments")
            segment = self._growing[signal] = SegmentFile(self._folder, signal, self._next, self._clock())
            self._next += 1
        return segment

    def _due(self, segment: SegmentFile) -> float:
        return segment.since + (SEAL_AFTER_S if len(self._sealed) < LAGGING_SEGMENTS else LAGGING_SEAL_AFTER_S)

    def _retire(self, signal: Signal) -> None:
        if segment := self._growing.pop(signal, None):
            self._unsealed.append(segment)
            self._seal()

    def _seal(self) -> None:
        waiting, self._unsealed = self._unsealed, []
        for segment in waiting:
            try:
                name = segment.seal()
            except OSError:
                self._unsealed.append(segment)
                continue
            if name:
                self._hold(name, segment.size, segment.since)

    def _adopt(self, name: SegmentName) -> None:
        sealed: SegmentName | None = name
        if not name.sealed:
            sealed, cut = recover(self._folder, name)
            self._cut_bytes += cut
        with suppress(FileNotFoundError):  # the loader may take it at any moment
            if sealed:
                self._hold(sealed, (self._folder / str(sealed)).stat().st_size, self._clock())

    def _hold(self, name: SegmentName, size: int, since: float) -> None:
        self._sealed[name] = (size, since)
        self._sealed_bytes += size

    def _survey(self) -> None:
        with suppress(OSError):  # not to be read now: nothing is known to be gone
            for name in self._sealed.keys() - set(segment_names(self._folder)):
                self._sealed_bytes -= self._sealed.pop(name)[0]
