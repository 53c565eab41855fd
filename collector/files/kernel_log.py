"""The kernel's log (dmesg in all its time formats, journalctl, syslog, kmsg) as log records: GPU errors (Xid),
the OOM killer, PCIe and machine check errors, lockups and throttling are named. The zone of local times is
that of lines that name UTC beside."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from collector.files._app_record import Record
from collector.files._contract import Options, Reader, Source
from collector.files._kernel_events import happening
from collector.files._local_clock import FARTHEST_S, QUARTER_S
from collector.files._log_file import Log, Plain, Sink, read_records
from collector.files._log_lines import LogLines, text_of
from collector.files._paste import Head, Peeled, whole
from collector.files._share import score
from collector.files._stamps import ISO, MONTHS, Years, iso_unix_nano
from collector.files._times import SECOND
from collector.files._uptime import WALL, file_time, start_of
from correlator.model.records import Batch, Problem

SURE = 0.93
_LEVELS = ("CRITICAL", "CRITICAL", "CRITICAL", "ERROR", "WARNING", "INFO", "INFO", "DEBUG")
_NAMED = {"emerg": 0, "alert": 1, "crit": 2, "err": 3, "warn": 4, "notice": 5, "info": 6, "debug": 7}
_FACILITY = re.compile(r"(?:kern|user|daemon|syslog)\s*:(\w+)\s*: ")
_CTIME = re.compile(r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})\] ?")
_ISO = re.compile(rf"{ISO.pattern} ")
_UPTIME = re.compile(r"\[ *(\d{1,9})\.(\d{6})\] ?(?:\[[CT ]+\d+\] ?)?")
_KMSG = re.compile(r"(\d{1,3}),\d+,(\d{1,18}),[^;]*;")
_DMESG_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d ")
_KERNEL = re.compile(r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]+\S*) \S+ kernel: ")
_SAID = 400  # characters in which what only the kernel says begins
_REACH = 120  # characters in which a syslog's `kernel:` ends
_OWN = re.compile(r"NVRM: |Xid \(|oom-kill|Out of memory: Kill|\[Hardware Error\]|soft lockup|PCIe Bus Error")
_MICRO = 1_000


def accepts(source: Source) -> float:
    """By the share of stamps that only the kernel writes, a syslog's `kernel:`, and of what only the kernel says."""
    return 0.0 if b"\0" in source.head else score(source, SURE, _is_own)


def _is_own(text: str) -> bool:
    own = any(form.match(text) for form in (_FACILITY, _CTIME, _DMESG_ISO, _UPTIME, _KMSG))
    return own or bool((" kernel: " in text and _KERNEL.search(text, 0, _REACH)) or _OWN.search(text, 0, _SAID))


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Log records, one a line of the kernel; `now` serves only to date syslog stamps without a year."""
    start, doubt = start_of(source, options, _uptime_of)
    ahead, unsure = _zone(source)
    yield from filter(None, (doubt, unsure))

    def begins(line: Peeled, years: Years) -> Head | None:
        return _stamped(line, start, ahead or 0) or (Head(None, "", line.text) if _OWN.search(line.text) else None)

    log = Log("kernel_log", "kernel", begins, file_time(source, options))
    yield from read_records(source, options, now, log, Plain(_meaning))


def _zone(source: Source) -> tuple[int | None, Problem | None]:
    """How far `dmesg -T`, which prints local time without its zone, is ahead of UTC (ns): lines that name a wall time
    in UTC tell it. Else it is None, and said where there are such lines."""
    local, first = 0, None
    with source.open() as stream:
        for number, raw in LogLines(stream):
            text = text_of(raw) if b"[" in raw else ""
            if not (match := _CTIME.search(text, 0, _REACH)) or (wall := _ctime(match)) is None:
                continue
            local, first = local + 1, first or number
            if known := WALL.search(text):
                ahead_s = round((wall // SECOND - int(known[1])) / QUARTER_S) * QUARTER_S
                if abs(ahead_s) <= FARTHEST_S:
                    return ahead_s * SECOND, None
    reason = "times have no zone (dmesg -T prints local time): they are read as UTC (dmesg --time-format iso names it)"
    return None, Problem(source.name, reason, "bad_time", first, count=local) if local else None


def _stamped(line: Peeled, start: int | None, ahead: int) -> Head | None:
    """The head of a line with a stamp, its own or before it; the start is that of the clock it counts by, `ahead`
    what the local clock is before UTC (ns)."""
    facility = _FACILITY.match(line.text)
    level = _LEVELS[_NAMED.get(facility[1], 6)] if facility else ""
    text = line.text[facility.end() :] if facility else line.text
    if match := _ISO.match(text):
        return Head(iso_unix_nano(match), level, text[match.end() :])
    if match := _CTIME.match(text):
        local = _ctime(match)
        return Head(None if local is None else local - ahead, level, text[match.end() :])
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
