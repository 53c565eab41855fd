"""From the lines of a vLLM log to its entries: whatever stands before a line is peeled off, what was broken
over several lines is put together again, and the processes that write into one log are kept apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.files._exceptions import CHAINED, HEADER, named
from collector.files._stamps import ISO, Years, iso_unix_nano

STAMP = 19  # characters of a full stamp, at least
PREFIX_LIMIT = 400  # characters before a stamp
TEXTS_LIMIT = 400  # lines of one entry; beyond it the middle is given up
_LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
HEAD = re.compile(
    rf"\b({_LEVELS}) (?:\d{{4}}-)?((\d\d)-(\d\d) (\d\d:\d\d:\d\d))(?:[.,](\d{{1,9}}))? \[?[\w./-]+:\d+\] ?"
)
_TORCH = re.compile(r"\[([IWEF])((\d\d)(\d\d) (\d\d:\d\d:\d\d))(?:\.(\d{1,9}))? [^\]]*\] ?")
_TORCH_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
_UVICORN = re.compile(rf"({_LEVELS}): +(?=\S)")
ACCESS = re.compile(r'"([A-Z]+) ?(/[^\s"]*?) ?HTTP/[\d.]+" ?(\d{3})')
_PROCESS = re.compile(r"\((?:[\w.:-]+ )*?(?:rank=\d+ )?pid=\d+(?:, ip=[\d.:a-f]+)?\) ?")
_WRAPPER = re.compile(
    rf"\s*>\s?|{ISO.pattern}\s+(?:(?:stdout|stderr) [FP] )?(?:\S+ [\w./-]+\[\d+\]: )?|[\w.-]+\s+\| "
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./-]+\[\d+\]: "
)
_PROGRESS = re.compile(r"\d+%[|\s].*(?:it/s|s/it)|^\s*```|^\s*$")
_ERRORS = frozenset({"ERROR", "CRITICAL"})


class Access(NamedTuple):
    """One line of the HTTP server's access log. `unix_nano` is the last time seen before it."""

    line: int
    unix_nano: int | None
    method: str
    path: str
    status: int
    text: str


@dataclass(slots=True)
class Entry:
    """What one call of the logger wrote: its lines without stamps, and when."""

    line: int
    unix_nano: int | None
    level: str  # "" where the line has none
    head: str  # level, stamp and place in the source as written; "" for a line without stamp
    texts: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return self.level in _ERRORS

    def add(self, text: str) -> None:
        if len(self.texts) >= TEXTS_LIMIT:
            del self.texts[TEXTS_LIMIT // 2]
        self.texts.append(text)

    def continued_by(self, text: str) -> bool:
        """Is `text`, under the very same stamp, another line of this entry and not a message of its own?"""
        if not text or text[0].isspace() or not any(map(str.strip, self.texts)):
            return True
        in_traceback = HEADER in text or any(HEADER in line for line in self.texts)
        return self.failed and in_traceback and text != self.texts[0]


@dataclass(slots=True)
class Assembler:
    """Feed it line by line; it gives back what is complete. Holds one open entry a process at most."""

    years: Years
    now: int | None = None  # the latest time seen
    _open: dict[str, Entry] = field(default_factory=dict, init=False)
    _last: str = field(default="", init=False)
    _stamp: str = field(default="", init=False)

    @property
    def busy(self) -> bool:
        return bool(self._open)

    def feed(self, number: int, text: str) -> Iterator[Entry | Access]:
        if text.startswith('{"log":'):
            text = _docker_json(text)
        if " HTTP/1." in text and (access := ACCESS.search(text)) and not HEAD.search(text, 0, PREFIX_LIMIT):
            self._clock(text[: access.start()])
            yield from self.close_quiet()
            said = text[max(text.find("INFO:"), 0) :]
            yield Access(number, self.now, access[1], access[2], int(access[3]), said)
        elif match := HEAD.search(text, 0, PREFIX_LIMIT):
            yield from self._stamped(number, text, match, match[1])
        elif match := _TORCH.search(text, 0, PREFIX_LIMIT):
            yield from self._stamped(number, text, match, _TORCH_LEVELS[match[1]])
        elif not _PROGRESS.search(text):
            yield from self._unstamped(number, text)

    def close(self) -> Iterator[Entry]:
        """What is still open."""
        yield from self._open.values()
        self._open.clear()

    def close_quiet(self) -> Iterator[Entry]:
        """What is open but errors, whose tracebacks go on between the lines of other processes."""
        for process in [name for name, entry in self._open.items() if not entry.failed]:
            yield self._open.pop(process)

    def _stamped(self, number: int, text: str, match: re.Match[str], level: str) -> Iterator[Entry]:
        prefix, rest = text[: match.start()], text[match.end() :]
        process = found[0] if "(" in prefix and (found := _PROCESS.search(prefix)) else ""
        full = self._clock(prefix)
        entry = self._open.get(process)
        if entry is not None and entry.head == match[0] and entry.continued_by(rest):
            entry.add(rest)
            return
        own = full or self.years.unix_nano(int(match[3]), int(match[4]), match[5], match[6])
        if match[2] != self._stamp:
            yield from self.close()
        self._stamp, self.now = match[2], own or self.now
        yield from self._start(process, Entry(number, own or self.now, level, match[0], [rest]))

    def _unstamped(self, number: int, text: str) -> Iterator[Entry]:
        text, process = self._peeled(text)
        if match := _UVICORN.match(text):
            yield from self.close_quiet()
            said = Entry(number, self.now, match[1], "", [text[match.end() :]])
            if said.failed or '"' in text:  # a traceback may follow, or the rest of an access line
                yield from self._start(process, said)
            else:  # at once: of a restart within one second the end must come before the beginning
                yield said
            return
        entry = self._open.get(process or self._last)
        if entry is None or _begins_error(entry, text):
            level = "ERROR" if HEADER in text or named(text) else ""
            yield from self._start(process, Entry(number, self.now, level, "", [text]))
        else:
            entry.add(text)

    def _start(self, process: str, entry: Entry) -> Iterator[Entry]:
        previous = self._open.pop(process, None)
        if previous is not None:
            yield previous
        self._open[process] = entry
        self._last = process

    def _clock(self, prefix: str) -> int | None:
        """The full time in what stands before a line, if any."""
        match = ISO.search(prefix) if len(prefix) >= STAMP and ":" in prefix else None
        full = iso_unix_nano(match) if match else None
        if full is not None:
            self.years.saw(full)
            self.now = full
        return full

    def _peeled(self, text: str) -> tuple[str, str]:
        process = ""
        for _ in range(4):
            if match := _WRAPPER.match(text):
                self._clock(match[0])
            elif match := _PROCESS.match(text):
                process = match[0]
            else:
                break
            text = text[match.end() :]
        return text, process


def _begins_error(entry: Entry, text: str) -> bool:
    if HEADER in text:
        chained = any(line.lstrip().startswith(CHAINED) for line in entry.texts[-3:])
        return not (chained or (entry.failed and not any(HEADER in line for line in entry.texts)))
    return not entry.failed and named(text) is not None


def _docker_json(text: str) -> str:
    try:
        record = json.loads(text)
        return f"{record['time']} {record['log'].rstrip()}"
    except (ValueError, KeyError, AttributeError, TypeError):
        return text
