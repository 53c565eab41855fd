"""Lines of a stream with a bound on their length: one endless line must not fill the memory."""

from collections.abc import Iterator
from typing import BinaryIO

MAX_LINE = 64 << 20
BOM = b"\xef\xbb\xbf"


def lines(stream: BinaryIO, limit: int = MAX_LINE) -> Iterator[tuple[int, bytes | None]]:
    """(number from 1, line with its end); None stands for a line longer than `limit` bytes."""
    number = 0
    while line := stream.readline(limit):
        number += 1
        if number == 1:
            line = line.removeprefix(BOM)
        if len(line) < limit or line.endswith(b"\n"):
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(limit)
        yield number, None
