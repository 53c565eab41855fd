"""Plain text lines: the usual stamps (ISO, epoch, klog, syslog, common log format), levels and trace ids."""

from __future__ import annotations

import re
from typing import NamedTuple

from collector.files._app_record import Record, id_of, level_of
from collector.files._stamps import MONTHS, Years, fraction_nano, iso_unix_nano
from collector.files._times import SECOND

REACH = 96  # characters in which a stamp must begin
_ISO = re.compile(  # not in the midst of a table, nor as a value in a document
    r"(?<![\d,])(?<!: \")(?<!:\")(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}+)\d*+)?+"
    r"(?: ?(Z|UTC|[+-]\d\d:?\d\d)(?![\w.:]))?+(?!\s*,)"
)
_EPOCH = re.compile(r"\[?(\d{10}(?:\d{3}){0,3})(?:\.(\d{1,9}))?\]?[\s:]")
_KLOG = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s")
_SYSLOG = re.compile(
    r"(?:<\d{1,3}>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? "
    r"(?:\S+ ([\w./-]+?)(?:\[\d+\])?: )?"
)
_COMMON = re.compile(r"\[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\]")
_COMPOSE = re.compile(r"([\w.-]*?[\w.])(?:-\d+)?\s+\| ")
_LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|SEVERE|CRIT(?:ICAL)?|FATAL|PANIC)\b"
    r"|\b(?:level|lvl|severity)=\"?(\w+)|\[(trace|debug|info|notice|warn|warning|error|crit|fatal)\]"
)
_TRACE, _SPAN = (
    re.compile(rf"(dd\.)?{kind}[_.-]?id[\"']?\s*[=:]\s*[\"']?([0-9a-f-]{{16,36}}|\d{{1,20}})", re.IGNORECASE)
    for kind in ("trace", "span")
)
_KLOG_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
_LEVEL_REACH = 160


class Stamp(NamedTuple):
    """A time found in a line, and what the same form tells besides."""

    unix_nano: int
    level: str = ""
    service: str = ""


def stamp_of(text: str, years: Years) -> Stamp | None:
    """The first stamp a line begins with, None if it has none."""
    if match := _ISO.search(text, 0, REACH + 40):
        return _full(iso_unix_nano(match), years) if match.start() < REACH else None
    if match := _EPOCH.match(text):
        return _full(epoch_nano(match[1], match[2]), years)
    if match := _KLOG.match(text):
        own = years.unix_nano(int(match[2]), int(match[3]), match[4], match[5])
        return None if own is None else Stamp(own, _KLOG_LEVELS[match[1]])
    if (match := _SYSLOG.match(text)) and match[1] in MONTHS:
        own = years.unix_nano(MONTHS[match[1]], int(match[2]), match[3], match[4])
        return None if own is None else Stamp(own, service=match[5] or "")
    if (match := _COMMON.search(text, 0, 2 * REACH)) and match[2] in MONTHS:
        moment = f"{match[3]}-{MONTHS[match[2]]:02}-{match[1]}T{match[4]}{match[5]}"
        iso = _ISO.match(moment)
        return _full(iso_unix_nano(iso), years) if iso else None
    return None


def has_no_year(text: str) -> bool:
    """Does a line begin with a stamp that leaves the year out (klog, syslog)?"""
    return bool(_KLOG.match(text) or ((match := _SYSLOG.match(text)) and match[1] in MONTHS))


def text_record(number: int, text: str, years: Years) -> Record | None:
    """The record that a stamped line begins, None for a line without a stamp."""
    service = ""
    if " | " in text[:REACH] and (match := _COMPOSE.match(text)):
        service, text = match[1], text[match.end() :]
    stamp = stamp_of(text, years)
    if stamp is None:
        return None
    level = stamp.level or text_level(text)
    record = Record(number, stamp.unix_nano, level, [text], service or stamp.service)
    if "race" in text or "RACE" in text:
        if match := _TRACE.search(text):
            record.trace_id = id_of(match[2], 16, decimal=bool(match[1]))
        if match := _SPAN.search(text):
            record.span_id = id_of(match[2], 8, decimal=bool(match[1]))
    return record


def text_level(text: str) -> str:
    """The level a line names near its beginning, "" if none."""
    match = _LEVEL.search(text, 0, _LEVEL_REACH)
    return level_of(match[1] or match[2] or match[3]) if match else ""


def epoch_nano(digits: str, fraction: str | None = None) -> int:
    """Nanoseconds of an epoch written with 10, 13, 16 or 19 digits (s, ms, µs, ns)."""
    unit: int = SECOND // 10 ** (len(digits) - 10)
    return int(digits) * unit + (fraction_nano(fraction) if unit == SECOND else 0)


def _full(unix_nano: int | None, years: Years) -> Stamp | None:
    if unix_nano is None:
        return None
    years.saw(unix_nano)
    return Stamp(unix_nano)
