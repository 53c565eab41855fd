"""Lines of a text log, each cut at a limit so that no line, however long, can fill the memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

LINE_LIMIT = 64 << 10
CHUNK = 256 << 10
BOM = b"\xef\xbb\xbf"
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\[[0-9;]+m")  # the escape byte is often lost in pasting


@dataclass(slots=True)
class LogLines:
    """The lines of a stream as (number from 1, bytes without their end); counts what it had to cut."""

    stream: BinaryIO
    limit: int = LINE_LIMIT
    cut: int = field(default=0, init=False)
    first_cut: int | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number, rest = 0, b""
        while chunk := self.stream.read(CHUNK):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                number += 1
                yield number, self._bounded(number, line)
            rest = rest[: self.limit + 1]
        if rest:
            yield number + 1, self._bounded(number + 1, rest)

    def _bounded(self, number: int, line: bytes) -> bytes:
        if number == 1:
            line = line.removeprefix(BOM)
        if len(line) > self.limit:
            self.cut += 1
            self.first_cut = self.first_cut or number
            line = line[: self.limit]
        return line


def text_of(line: bytes) -> str:
    """The line as it looked on a terminal: no colours, only the last state of a progress bar."""
    text = line.rstrip(b"\r").decode("utf-8", "replace")
    if "\r" in text:
        text = text.rpartition("\r")[2]
    if "\x1b" in text or "[0" in text:  # every colouring ends with a reset
        text = _COLOUR.sub("", text)
    return text
