"""From paths to sources: folders, files and standard input; compression is found by its first bytes."""

import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard

from collector.files._contract import Source
from correlator.model.records import Problem

HEAD = 64 << 10
_CHUNK = 1 << 10  # compressed bytes at a time: bounds what a decompression bomb unfolds at once
_MAX_WINDOW = 128 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class _Engine(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Found:
    """A source and what went wrong in decompressing it, filled while it is read."""

    source: Source
    faults: list[str] = field(default_factory=list)


class _Decompressed(io.RawIOBase):
    """What can be decompressed of `raw`; damage ends the stream and is told once to `fault`."""

    def __init__(self, raw: BinaryIO, new_engine: Callable[[], _Engine], fault: Callable[[str], None]):
        self._raw, self._new_engine, self._fault = raw, new_engine, fault
        self._engine: _Engine | None = None
        self._pending = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        while not self._pending:
            if not self._advance():
                return 0
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size

    def _advance(self) -> bool:
        ended = self._engine is None or self._engine.eof
        data = (self._engine.unused_data if self._engine and ended else b"") or self._raw.read(_CHUNK)
        if not data:
            if not ended:
                self._end("cut off in the middle of the compressed data")
            return False
        if ended:
            self._engine = self._new_engine()
        try:
            self._pending = self._engine.decompress(data)  # type: ignore[union-attr]
        except (zlib.error, zstandard.ZstdError) as error:
            return self._end(f"compressed data is damaged ({error})")
        return True

    def _end(self, reason: str) -> bool:
        self._fault(f"{reason}; what came before is used")
        self._raw.close()
        self._raw, self._engine = io.BytesIO(), None
        return False


def _gzip() -> _Engine:
    return zlib.decompressobj(wbits=31)


def _zstd() -> _Engine:
    return zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()


def _decompressed(raw: BinaryIO, fault: Callable[[str], None]) -> BinaryIO:
    magic = raw.read(4)
    raw.seek(0)
    engine = _gzip if magic.startswith(_GZIP) else _zstd if magic == _ZSTD else None
    return raw if engine is None else io.BufferedReader(_Decompressed(raw, engine, fault), HEAD)


def found(name: str, path: Path, modified_unix_nano: int | None) -> Found:
    """A source with its head read. Raises OSError where the file cannot be opened."""
    faults: list[str] = []

    def fault(reason: str) -> None:
        if reason not in faults:
            faults.append(reason)

    def open_source() -> BinaryIO:
        return _decompressed(path.open("rb"), fault)

    with open_source() as stream:
        head = stream.read(HEAD)
    return Found(Source(name, head, open_source, modified_unix_nano), faults)


def walk(paths: Sequence[str], spools: ExitStack) -> Iterator[Found | Problem]:
    """Every file under `paths`, each once, folders in sorted order; `-` is standard input.

    Standard input and pipes are copied to temporary files that live as long as `spools`.
    """
    walk = _Walk(spools)
    for path in paths:
        if path == "-":
            yield _spooled("-", sys.stdin.buffer, spools)
        else:
            yield from _guarded(path, walk)


@dataclass(frozen=True, slots=True)
class _Walk:
    spools: ExitStack
    seen: set[tuple[int, int]] = field(default_factory=set)


def _guarded(path: str, walk: _Walk) -> Iterator[Found | Problem]:
    try:
        yield from _path(path, walk)
    except OSError as error:
        yield Problem(path, f"cannot be read ({error.strerror or error})", kind="unreadable")


def _path(path: str, walk: _Walk) -> Iterator[Found | Problem]:
    status = os.stat(path)
    identity = (status.st_dev, status.st_ino)
    if identity in walk.seen:
        yield Problem(path, "is reached twice and read once", kind="duplicate")
        return
    walk.seen.add(identity)
    if stat.S_ISDIR(status.st_mode):
        yield from _folder(path, walk)
    elif stat.S_ISFIFO(status.st_mode):
        with open(path, "rb") as stream:
            yield _spooled(path, stream, walk.spools)
    elif stat.S_ISREG(status.st_mode):
        yield found(path, Path(path), status.st_mtime_ns)
    else:
        yield Problem(path, "is neither a file nor a folder", kind="unreadable")


def _folder(path: str, walk: _Walk) -> Iterator[Found | Problem]:
    names = sorted(os.listdir(path))
    if not names:
        yield Problem(path, "folder is empty", kind="unreadable")
    for name in names:
        yield from _guarded(os.path.join(path, name), walk)


def _spooled(name: str, stream: BinaryIO, spools: ExitStack) -> Found:
    spool = tempfile.NamedTemporaryFile(prefix="tollens-")  # noqa: SIM115 (spools closes it)
    spools.enter_context(spool)
    shutil.copyfileobj(stream, spool)
    spool.flush()
    return found(name, Path(spool.name), None)
