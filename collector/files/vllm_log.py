"""vLLM's own log, V0 or V1, as OTLP: what it said as log records, its periodic figures as metrics, and the
happenings and settings a cause may rest on as named events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from collector.files._contract import Options, Reader, Source
from collector.files._emit import Emitter
from collector.files._log_lines import LINE_LIMIT, LogLines, text_of
from collector.files._share import score
from collector.files._stamps import Years
from collector.files._vllm_lines import ACCESS, HEAD, PREFIX_LIMIT, Access, Assembler, Entry
from collector.files._vllm_meaning import Meaning
from correlator.model.records import Batch, Problem

SURE = 0.95
PERHAPS = 0.3
# the short way for what most lines of a busy log are: a request that went well
_PLAIN_ACCESS = re.compile(rb'(?:\([^()]*\) )?INFO: +\S+ - "([A-Z]+) (/[^\s"]*) HTTP/[\d.]+" (2\d\d)')


def accepts(source: Source) -> float:
    """By the share of vLLM's stamps and its own phrases; an HTTP access log alone could be anybody's."""
    own = score(source, SURE, lambda text: HEAD.search(text, 0, PREFIX_LIMIT))
    return own or score(source, PERHAPS, _is_access)


def _is_access(text: str) -> bool:
    return "INFO:" in text and "HTTP/1." in text and ACCESS.search(text) is not None


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of logs and metrics; the clock serves only to date stamps without a year."""
    log = Meaning(Emitter(source.name, "vllm", "tollens.vllm_log"))
    assembler = Assembler(Years(options.near_unix_nano, now))
    with source.open() as stream:
        lines = LogLines(stream)
        for number, raw in lines:
            if assembler.now is not None and (access := _PLAIN_ACCESS.match(raw)):
                for entry in assembler.close_quiet() if assembler.busy else ():
                    log.entry(entry)
                log.request(access[1].decode(), access[2].decode("utf-8", "replace"), int(access[3]))
                continue
            for item in assembler.feed(number, text_of(raw)):
                _take(log, item)
            if log.out.full:
                yield from log.out.batches()
    for entry in assembler.close():
        log.entry(entry)
    log.finish()
    yield from log.out.batches()
    yield from _problems(source.name, lines, log)


def _take(log: Meaning, item: Entry | Access) -> None:
    if isinstance(item, Access):
        log.access(item)
    else:
        log.entry(item)


def _problems(name: str, lines: LogLines, log: Meaning) -> Iterator[Problem]:
    if lines.cut:
        reason = f"line is longer than {LINE_LIMIT} bytes; the rest of it was not read"
        yield Problem(name, reason, kind="truncated", line=lines.first_cut, count=lines.cut)
    if log.untimed:
        reason = "stands before the first line with a time, expected `INFO MM-DD HH:MM:SS [file.py:1]`"
        yield Problem(name, reason, kind="bad_time", line=log.untimed_line, count=log.untimed)


READER = Reader(id="vllm_log", accepts=accepts, read=read, needs_year=True)
