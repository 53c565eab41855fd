"""Segments: the files through which the collector hands OTLP requests to the correlator.

A header, then frames of one request each. Every frame starts with the segment's own random mark, so that what
lies behind a damaged frame is found again and bytes of a request are never taken for a frame.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from correlator.model.durable import sync_folder, write_durably
from correlator.model.errors import InputError
from correlator.model.records import Signal

MARK_BYTES = 8
_MAGIC = b"TOLLENS\x01"
_HEADER = struct.Struct("<8s8sI")  # magic with the version of the format, mark, crc32 of both
_FRAME = struct.Struct("<8sII")  # mark, length of the payload, crc32 of length and payload
FRAME_BYTES = _FRAME.size
HEADER_BYTES = _HEADER.size

QUARANTINE = "quarantine"
"""The folder in a spool for requests that were refused for good."""
QUARANTINE_BYTES = 64 << 20
"""They are kept up to this; further ones are only counted."""

OPEN, READY = "open", "ready"
_NAME = re.compile(rf"({'|'.join(Signal)})-(\d{{20}})\.({OPEN}|{READY})")


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """What a segment's file name says. Numbers grow within a spool, so they tell the order."""

    number: int
    signal: Signal
    sealed: bool

    def __str__(self) -> str:
        return f"{self.signal}-{self.number:020}.{READY if self.sealed else OPEN}"


@dataclass(frozen=True, slots=True)
class Contents:
    """What could be read of a segment.

    `mark` names the segment, also after it was renamed. `sound_bytes` is where the last sound frame ends, `torn_bytes`
    what lies behind it, and `lost_bytes` what is damaged before it.
    """

    mark: bytes
    payloads: tuple[bytes, ...]
    sound_bytes: int
    torn_bytes: int
    lost_bytes: int


def parse_name(name: str) -> SegmentName | None:
    """What the file name of a segment says; None for any other file."""
    match = _NAME.fullmatch(name)
    return SegmentName(int(match[2]), Signal(match[1]), match[3] == READY) if match else None


def segment_names(folder: Path) -> list[SegmentName]:
    """The segments in a folder by number, the oldest first. OSError when it cannot be read."""
    return sorted(name for entry in folder.iterdir() if (name := parse_name(entry.name)))


def waiting_since(folder: Path) -> int | None:
    """When the oldest segment that waits for the loader was sealed (Unix ns); None where none waits.

    OSError when the folder cannot be read.
    """
    for name in segment_names(folder) if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # the loader may take it at any moment
            if name.sealed:
                return (folder / str(name)).stat().st_mtime_ns
    return None


def header(mark: bytes) -> bytes:
    """The start of a segment; `mark` is random and MARK_BYTES long."""
    return _HEADER.pack(_MAGIC, mark, zlib.crc32(_MAGIC + mark))


def frame_head(mark: bytes, payload: bytes) -> bytes:
    """What stands before `payload` in a segment, FRAME_BYTES long."""
    return _FRAME.pack(mark, len(payload), _check(payload))


def size_of(payloads: Sequence[bytes]) -> int:
    """The bytes that `payloads` take in a segment."""
    return sum(map(len, payloads)) + FRAME_BYTES * len(payloads)


def encode(mark: bytes, payloads: Iterable[bytes]) -> bytes:
    """A whole segment."""
    return header(mark) + b"".join(part for payload in payloads for part in (frame_head(mark, payload), payload))


def read_segment(path: Path) -> Contents:
    """All sound frames of a file. InputError, naming it, for a format that is not ours; OSError."""
    try:
        return decode(path.read_bytes())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def decode(content: bytes) -> Contents:
    """All sound frames of a segment, whatever has happened to it. InputError for a format that is not ours."""
    mark = _mark(content)
    payloads, end, lost = [], min(HEADER_BYTES, len(content)), 0
    for start, payload in _frames(content, mark):
        lost += start - end
        end = start + FRAME_BYTES + len(payload)
        payloads.append(payload)
    return Contents(mark, tuple(payloads), end, len(content) - end, lost)


def _mark(content: bytes) -> bytes:
    """The mark from the header, or from the first frame where the header is damaged."""
    if len(content) < HEADER_BYTES:
        return b""
    magic, mark, check = _HEADER.unpack_from(content)
    if check != zlib.crc32(magic + mark):
        return content[HEADER_BYTES : HEADER_BYTES + MARK_BYTES]
    if magic != _MAGIC:
        raise InputError("a spool segment in the format of another version of Tollens")
    return bytes(mark)


def _frames(content: bytes, mark: bytes) -> Iterator[tuple[int, bytes]]:
    """Where each sound frame starts, and its payload."""
    at = HEADER_BYTES
    while len(mark) == MARK_BYTES and (at := content.find(mark, at)) >= 0:
        payload = _payload(content, at)
        if payload is not None:
            yield at, payload
        at += FRAME_BYTES + len(payload) if payload is not None else 1


def _payload(content: bytes, at: int) -> bytes | None:
    if at + FRAME_BYTES > len(content):
        return None
    _, length, check = _FRAME.unpack_from(content, at)
    payload = content[at + FRAME_BYTES : at + FRAME_BYTES + length]
    return payload if len(payload) == length and _check(payload) == check else None


def _check(payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(len(payload).to_bytes(4, "little")))


def set_aside(folder: Path, name: SegmentName, mark: bytes, refused: Sequence[bytes]) -> int:
    """Put requests into quarantine as far as there is room: how many. A repetition replaces what it wrote before.

    OSError when the disk refuses.
    """
    quarantine = folder / QUARANTINE
    path = quarantine / f"{name.signal}-{name.number:020}-{mark.hex()}.segment"
    quarantine.mkdir(exist_ok=True)
    room = QUARANTINE_BYTES - sum(other.stat().st_size for other in quarantine.iterdir() if other != path)
    fitting = []
    for payload in refused:
        if len(payload) <= room:
            fitting.append(payload)
            room -= len(payload)
    if fitting:
        write_durably(path, encode(mark, fitting))
        sync_folder(folder)
    return len(fitting)
