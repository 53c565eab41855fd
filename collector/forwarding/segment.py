"""A segment on its way to another collector: its requests joined, and what becomes of it in the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from correlator.model.durable import sync_folder
from correlator.model.segments import SegmentName, set_aside

JOINED_BYTES = 1 << 20


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
    kept = set_aside(folder, name, mark, refused) if refused else 0
    (folder / str(name)).unlink(missing_ok=True)
    sync_folder(folder)
    return kept
