"""Files that survive a crash of the machine: what is in them, and that they have their name."""

from __future__ import annotations

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make creating, renaming and removing in `folder` durable. OSError when the disk refuses."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_durably(path: Path, content: bytes) -> None:
    """Put `content` in place of what `path` holds: a crash leaves the one or the other. OSError.

    Only the owner may read it: requests in quarantine hold prompts.
    """
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(new, "xb", opener=_private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    sync_folder(path.parent)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
