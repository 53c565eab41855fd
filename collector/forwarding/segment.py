"""A segment on its way to another collector: its requests joined, and what becomes of it in the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from correlator.model.durable import sync_folder, write_durably
from correlator.model.segments import QUARANTINE, SegmentName, encode

JOINED_BYTES = 1 << 20
QUARANTINE_BYTES = 64 << 20
"""Requests refused for good are kept up to this; further ones are only counted."""


def joined(payloads: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The requests in groups of up to JOINED_BYTES; a larger one is a group by itself.

    Serialized requests one behind the other are one request, because all their fields are repeated.
    """
    group: list[bytes] = []
    size = 0
    for payload in payloads:
        if group and size + len(payload) > JOINED_BYTES:
            yield group
            group, size = [], 0
        group.append(payload)
        size += len(payload)
    if group:
        yield group


def settle(folder: Path, name: SegmentName, mark: bytes, refused: Sequence[bytes]) -> int:
    """Remove a segment, after what was refused of it is kept: how many requests. OSError; then again from the start."""
    kept = _quarantine(folder, name, mark, refused) if refused else 0
    (folder / str(name)).unlink(missing_ok=True)
    sync_folder(folder)
    return kept


def _quarantine(folder: Path, name: SegmentName, mark: bytes, refused: Sequence[bytes]) -> int:
    """Keep requests as far as there is room: how many. A repetition replaces what it wrote before."""
    quarantine = folder / QUARANTINE
    path = quarantine / f"{name.signal}-{name.number:020}-{mark.hex()}.segment"
    quarantine.mkdir(exist_ok=True)
    room = QUARANTINE_BYTES - sum(other.stat().st_size for other in quarantine.iterdir() if other != path)
    fitting = [payload for payload, size in zip(refused, accumulate(map(len, refused)), strict=True) if size <= room]
    if fitting:
        write_durably(path, encode(mark, fitting))
        sync_folder(folder)
    return len(fitting)
