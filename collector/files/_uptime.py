"""Clocks that count from a start: when that start was. A line that names a wall time beside its uptime is sure; else
the last line was written when the file was, if that is near what the other files of the input say."""

from __future__ import annotations

import re
from collections.abc import Callable

from collector.files._contract import Options, Source
from collector.files._log_lines import LogLines, text_of
from collector.files._paste import peeled
from collector.files._stamps import Years
from collector.files._times import SECOND, time_in_name
from correlator.model.records import Problem

NEAR_NS = 86_400 * SECOND
"""A file touched further than a day from the others' time was copied since: its time says nothing of its lines."""
WALL = re.compile(r"(?:setting system clock to .*?\(|\baudit\()(\d{10})(?:\.(\d{3}))?")
"""A wall time in UTC beside the line's own stamp: the clock set from the hardware, and audit lines."""
_ACTION = "expected a time in its name, a file as last written, or wall times (dmesg -T, --timestamps)"


def start_of(
    source: Source, options: Options, uptime_ns: Callable[[str], int | None]
) -> tuple[int | None, Problem | None]:
    """When the clock of a file stood at zero (Unix ns; None where nothing tells) and what is doubtful about it."""
    last: int | None = None
    years = Years(None, lambda: 0)
    with source.open() as stream:
        for _, raw in LogLines(stream):
            wall, text = peeled(text_of(raw), years)
            uptime = uptime_ns(text) if wall is None else None
            if uptime is None:
                continue
            last = uptime if last is None else max(last, uptime)
            if match := WALL.search(text):
                return int(match[1]) * SECOND + int(match[2] or 0) * 1_000_000 - uptime, None
    if last is None:
        return None, None
    return _by_file(source, options, last)


def file_time(source: Source, options: Options) -> int | None:
    """The time in a file's name, or when it was written if that is near the other files' time."""
    named, written, near = time_in_name(source.name), source.modified_unix_nano, options.near_unix_nano
    if named is not None or written is None:
        return named
    return written if near is None or abs(written - near) <= NEAR_NS else None


def _by_file(source: Source, options: Options, last: int) -> tuple[int | None, Problem | None]:
    """The start by the file's own time, taken for that of the last line."""
    end = file_time(source, options)
    if end is None:
        return None, Problem(source.name, f"times count from a start that nothing tells: {_ACTION}", "bad_time")
    reason = "times count from a start; the last line is taken to be as old as the file"
    return end - last, None if time_in_name(source.name) == end else Problem(source.name, reason, "bad_time")
