"""The contract between an input and a reader: a reader is told what lies in a file, not how it lies there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from correlator.model.records import Batch, Problem


@dataclass(frozen=True, slots=True)
class Source:
    """One decompressed input. `head` holds at most 64 KiB; `open` streams it again from its start."""

    name: str  # path as the user gave it, or "-"
    head: bytes
    open: Callable[[], BinaryIO]
    modified_unix_nano: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """What the user, or the other files of the same input, know and this file does not say."""

    scrape_time_unix_nano: int | None = None  # for a scrape whose page and name have no time
    near_unix_nano: int | None = None  # median time of the other files: the year of year-less logs


@dataclass(frozen=True, slots=True)
class Reader:
    """One format. `accepts` judges by content: 0 = not mine, 1 = certainly mine."""

    id: str  # the file's stem
    accepts: Callable[[Source], float]
    read: Callable[[Source, Options], Iterator[Batch | Problem]]
    needs_year: bool = False  # its times need Options.near_unix_nano: read after the others
