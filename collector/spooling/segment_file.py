"""The segment that is being written: appended, made durable, cut back after a failure, sealed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from correlator.model.durable import sync_folder
from correlator.model.records import Signal
from correlator.model.segments import MARK_BYTES, SegmentName, frame_head, header, read_segment


class SegmentFile:
    """One `.open` file. `size` counts the bytes that are known to be durable; OSError when the disk refuses."""

    def __init__(self, folder: Path, signal: Signal, number: int, now: float) -> None:
        """Create the file; `now` is when, on a monotonic clock in seconds."""
        self.name = SegmentName(number, signal, sealed=False)
        self.since = now
        self.size = 0
        self._folder = folder
        self._mark = secrets.token_bytes(MARK_BYTES)
        self._file = os.open(folder / str(self.name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def append(self, payloads: Iterable[bytes]) -> None:
        """Keep `payloads` behind what is there, so that they survive a crash. All are kept, or OSError."""
        frames = [part for payload in payloads for part in (frame_head(self._mark, payload), payload)]
        content = b"".join(frames if self.size else [header(self._mark), *frames])
        _write(self._file, content, self.size)
        os.fdatasync(self._file)
        if not self.size:
            sync_folder(self._folder)
        self.size += len(content)

    def seal(self) -> SegmentName | None:
        """Give the file to the loader, cut back to what is durable; None when that is nothing. May be tried again."""
        path = self._folder / str(self.name)
        if not self.size:
            path.unlink(missing_ok=True)
            self.close()
            return None
        if os.fstat(self._file).st_size != self.size:
            os.ftruncate(self._file, self.size)
            os.fsync(self._file)
        sealed = _sealed(self._folder, self.name)
        self.close()
        return sealed

    def close(self) -> None:
        """Leave the file as it is."""
        os.close(self._file)


def recover(folder: Path, name: SegmentName) -> tuple[SegmentName | None, int]:
    """Seal a segment that a crash left open, without its torn tail: its new name, and how many bytes were cut."""
    path = folder / str(name)
    contents = read_segment(path)
    if not contents.payloads:
        path.unlink()
        return None, contents.torn_bytes
    if contents.torn_bytes:
        with path.open("r+b") as file:
            file.truncate(contents.sound_bytes)
            os.fsync(file.fileno())
    return _sealed(folder, name), contents.torn_bytes


def _sealed(folder: Path, name: SegmentName) -> SegmentName:
    sealed = SegmentName(name.number, name.signal, sealed=True)
    os.rename(folder / str(name), folder / str(sealed))
    with suppress(OSError):  # by whichever name a crash leaves it, it is found again
        sync_folder(folder)
    return sealed


def _write(file: int, content: bytes, at: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written
