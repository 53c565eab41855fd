"""The kernel's log (dmesg in all its time formats, journalctl, syslog, kmsg) as log records: GPU errors (Xid),
the OOM killer, PCIe and machine check errors, lockups and throttling are named. Local times are read as UTC."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from collector.files._app_record import Record
from collector.files._contract import Options, Reader, Source
from collector.files._kernel_events import happening
from collector.files._log_file import Log, Plain, Sink, read_records, share_of
from collector.files._paste import Head, Peeled, whole
from collector.files._stamps import ISO, MONTHS, Years, iso_unix_nano
from collector.files._times import SECOND
from collector.files._uptime import file_time, start_of
from correlator.model.records import Batch, Problem

SURE, LEAST = 0.93, 0.6
_LEVELS = ("CRITICAL", "CRITICAL", "CRITICAL", "ERROR", "WARNING", "INFO", "INFO", "DEBUG")
_NAMED = {"emerg": 0, "alert": 1, "crit": 2, "err": 3, "warn": 4, "notice": 5, "info": 6, "debug": 7}
_FACILITY = re.compile(r"(?:kern|user|daemon|syslog)\s*:(\w+)\s*: ")
_CTIME = re.compile(r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})\] ?")
_ISO = re.compile(rf"{ISO.pattern} ")
_UPTIME = re.compile(r"\[ *(\d{1,9})\.(\d{6})\] ?(?:\[[CT ]+\d+\] ?)?")
_KMSG = re.compile(r"(\d{1,3}),\d+,(\d{1,18}),[^;]*;")
_JOURNAL = re.compile(
    r"^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]+\S*) \S+ kernel: ", re.MULTILINE
)
_OWN = re.compile(r"NVRM: |Xid \(|oom-kill|Out of memory: Kill|\[Hardware Error\]|soft lockup|PCIe Bus Error")
_MICRO = 1_000


def accepts(source: Source) -> float:
    """By stamps that only the kernel writes, a syslog's `kernel:`, or, without any, by what only the kernel says."""
    if b"\0" in source.head:
        return 0.0
    text = source.head.decode("utf-8", "replace")
    share = share_of(source, lambda line: _stamped(Peeled(None, line), None))
    if share >= LEAST or _JOURNAL.search(text):
        return SURE
    return LEAST if _OWN.search(text) else 0.0


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Log records, one a line of the kernel; `now` serves only to date syslog stamps without a year."""
    start, doubt = start_of(source, options, _uptime_of)
    if doubt is not None:
        yield doubt

    def begins(line: Peeled, years: Years) -> Head | None:
        return _stamped(line, start) or (Head(None, "", line.text) if _OWN.search(line.text) else None)

    log = Log("kernel_log", "kernel", begins, file_time(source, options))
    yield from read_records(source, options, now, log, Plain(_meaning))


def _stamped(line: Peeled, start: int | None) -> Head | None:
    """The head of a line with a stamp, its own or before it; the start is that of the clock it counts by."""
    facility = _FACILITY.match(line.text)
    level = _LEVELS[_NAMED.get(facility[1], 6)] if facility else ""
    text = line.text[facility.end() :] if facility else line.text
    for pattern, wall in ((_ISO, iso_unix_nano), (_CTIME, _ctime)):
        if match := pattern.match(text):
            return Head(wall(match), level, text[match.end() :])
    uptime = _uptime(text)
    if uptime is not None:
        since, kmsg_level, end = uptime
        own = start + since if start is not None and line.unix_nano is None else None
        return Head(own, level or kmsg_level, text[end:])
    return Head(None, level, text) if facility or line.unix_nano is not None else None


def _ctime(match: re.Match[str]) -> int | None:
    month = MONTHS.get(match[1], 0)
    moment = ISO.match(f"{match[4]}-{month:02}-{match[2].strip():0>2}T{match[3]}")
    return iso_unix_nano(moment) if moment else None


def _uptime(text: str) -> tuple[int, str, int] | None:
    """(ns since the start, level, where the text begins) of a line that counts from the start."""
    if match := _KMSG.match(text):
        return int(match[2]) * _MICRO, _LEVELS[int(match[1]) & 7], match.end()
    if match := _UPTIME.match(text):
        return int(match[1]) * SECOND + int(match[2]) * _MICRO, "", match.end()
    return None


def _uptime_of(text: str) -> int | None:
    facility = _FACILITY.match(text)
    found = _uptime(text[facility.end() :] if facility else text)
    return found[0] if found else None


def _meaning(sink: Sink, record: Record) -> None:
    event, attributes = happening(whole(record))
    sink.tell(record, event, attributes)


READER = Reader(id="kernel_log", accepts=accepts, read=read, needs_year=True)
