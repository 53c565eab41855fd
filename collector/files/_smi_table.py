"""The table that `nvidia-smi` prints by default: two lines a GPU, then the processes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from collector.files._gpu_fields import Told
from collector.files._local_clock import naive_unix_nano
from correlator.model.records import Problem

TABLE = re.compile(r"\| NVIDIA-SMI [\d.]+ ")
_DATE = re.compile(r"\b((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4})")
_NAMED = re.compile(
    r"\|\s+(\d+)\s+(\S.*?)\s+(?:On|Off|N/A)?\s*\|\s*([0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F])", re.I
)
_USAGE = re.compile(
    r"\|\s*\S+\s+(?P<temp>\S+)\s+P\d+\s+(?P<power>\S+)\s*/\s*(?P<limit>\S+)\s*"
    r"\|\s*(?P<used>\d+MiB|N/A)\s*/\s*(?P<total>\d+MiB|N/A)\s*\|\s*(?P<util>\d+%|N/A)"
)
_PROCESS = re.compile(
    r"\|\s+(?P<gpu>\d+)\s+(?:(?:\d+|N/A)\s+(?:\d+|N/A)\s+)?(?P<pid>\d+)\s+[CGM+]+\s+.*?\s(?P<memory>\d+MiB|N/A)\s*\|"
)
_LOST = re.compile(r"\|\s*\S*ERR!")


@dataclass(slots=True)
class _Row:
    line: int
    fields: dict[str, str]
    processes: list[tuple[str, str, str]] = field(default_factory=list)


def tables(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Told | Problem]:
    """Each GPU of each table."""
    unix_nano: int | None = None
    waiting: _Row | None = None
    gpus: dict[str, _Row] = {}
    for line, text in lines:
        if date := _DATE.search(text):
            yield from _told(gpus, unix_nano)
            gpus, waiting, unix_nano = {}, None, naive_unix_nano(date[1])
        elif TABLE.search(text) and gpus:
            yield from _told(gpus, unix_nano)
            gpus, waiting, unix_nano = {}, None, None
        elif match := _PROCESS.search(text):
            if match["gpu"] in gpus:
                gpus[match["gpu"]].processes.append((match["pid"], match["memory"], ""))
        elif match := _USAGE.search(text):
            if waiting is not None:
                _take(waiting, match)
                gpus[waiting.fields["index"]], waiting = waiting, None
        elif match := _NAMED.search(text):
            waiting = _Row(line, {"index": match[1], "name": match[2], "pci.bus_id": match[3]})
        elif waiting is not None and _LOST.search(text):
            yield Problem(name, f"GPU {waiting.fields['index']} answers ERR! in its row: it may be lost", line=line)
            waiting = None
    yield from _told(gpus, unix_nano)


def _take(row: _Row, match: re.Match[str]) -> None:
    celsius, watts = match["temp"].removesuffix("C"), match["power"].removesuffix("W")
    row.fields |= {
        "temperature.gpu": celsius,
        "power.draw": watts,
        "power.limit": match["limit"].removesuffix("W"),
        "memory.used": match["used"],
        "memory.total": match["total"],
        "utilization.gpu": match["util"],
    }


def _told(gpus: dict[str, _Row], unix_nano: int | None) -> Iterator[Told]:
    for row in gpus.values():
        yield Told(row.line, row.fields, unix_nano, tuple(row.processes))
