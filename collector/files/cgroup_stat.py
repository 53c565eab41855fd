"""What Linux says of a container's CPU and memory: `cpu.stat`, `memory.events`, `cpu.pressure` (cgroup v1 and v2), one
snapshot or many with a time before each, as the counters that cAdvisor makes of the same files."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import PurePath

from collector.attributes import Value
from collector.files._contract import Options, Reader, Source
from collector.files._emit import CUMULATIVE, Emitter
from collector.files._log_lines import LogLines, text_of
from collector.files._share import score
from collector.files._times import time_in, time_in_name
from correlator.model.records import Batch, Problem

SURE = 0.9
_FIELD = re.compile(r"([a-z_]{2,24}) (\d{1,20})")
_PRESSURE = re.compile(r"(some|full)(?: avg\d+=[\d.]+)+ total=(\d{1,20})")
_OWN = re.compile(rb"(?m)^(?:nr_throttled|throttled_usec|oom_kill) \d+\s*$|^(?:some|full) avg10=[\d.]+ avg60=")
_NAMED = re.compile(rb"(?m)^([a-z_.]+) \d+\s*$")
_COUNTERS = {  # name, unit, units of the file a unit of ours
    "nr_periods": ("container_cpu_cfs_periods_total", "{period}", 1),
    "nr_throttled": ("container_cpu_cfs_throttled_periods_total", "{period}", 1),
    "throttled_usec": ("container_cpu_cfs_throttled_seconds_total", "s", 1_000_000),
    "throttled_time": ("container_cpu_cfs_throttled_seconds_total", "s", 1_000_000_000),
    "usage_usec": ("container_cpu_usage_seconds_total", "s", 1_000_000),
    "user_usec": ("container_cpu_user_seconds_total", "s", 1_000_000),
    "system_usec": ("container_cpu_system_seconds_total", "s", 1_000_000),
    "oom": ("container_memory_oom_total", "{event}", 1),
    "oom_kill": ("container_oom_events_total", "{event}", 1),
    "max": ("container_memory_failcnt", "{event}", 1),
    "high": ("container_memory_high_total", "{event}", 1),
}
_SILENT = frozenset({"low", "oom_kill_disable", "under_oom", "oom_group_kill", "sock_throttled", "nr_bursts",
                     "burst_usec", "burst_time", "nice_usec", "core_sched.force_idle_usec"})  # fmt: skip
_PRESSURES = {
    ("cpu", "some"): "container_pressure_cpu_waiting_seconds_total",
    ("cpu", "full"): "container_pressure_cpu_stalled_seconds_total",
    ("memory", "some"): "container_pressure_memory_waiting_seconds_total",
    ("memory", "full"): "container_pressure_memory_stalled_seconds_total",
    ("io", "some"): "container_pressure_io_waiting_seconds_total",
    ("io", "full"): "container_pressure_io_stalled_seconds_total",
}
_RESOURCE = re.compile(r"(?<![a-zA-Z0-9])(cpu|memory|io)\.(?:pressure|stat|events)(?![a-zA-Z0-9])")
_STAMPS = re.compile(r"\d{10,19}|20\d\d-?\d\d-?\d\d(?:[T_ -]?\d\d[:_-]?\d\d[:_-]?\d\d)?Z?|\.(?:txt|log)$")
_MICRO = 1_000_000
_EXPECTED = "expected a figure of cpu.stat or memory.events, or of a pressure whose file is named (cpu.pressure)"
_GUESSED = "snapshot has no time, the file's modification time is used (--scrape-time sets it)"


def accepts(source: Source) -> float:
    """By keys of `cpu.stat` and `memory.events`, or a line of pressure, and the share of lines that are figures."""
    if b"\0" in source.head or not _OWN.search(source.head):
        return 0.0
    names = [name.decode() for name in _NAMED.findall(source.head)]
    if 2 * sum(name in _COUNTERS or name in _SILENT for name in names) < len(names):  # /proc/vmstat has `oom_kill` too
        return 0.0
    return score(source, SURE, lambda text: _FIELD.fullmatch(text.strip()) or _PRESSURE.fullmatch(text.strip()))


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of cumulative sums; a line that is neither a time nor a figure is named."""
    folder = "-" if source.name == "-" else os.path.dirname(source.name) or "."
    out = Emitter(folder, "cgroup", "tollens.cgroup_stat")
    of, group = _resource(PurePath(source.name).name), _group(PurePath(source.name).name)
    told = time_in_name(source.name) or options.scrape_time_unix_nano
    stamp = told or source.modified_unix_nano
    guessed = told is None
    with source.open() as stream:
        for number, raw in LogLines(stream):
            text = text_of(raw).removeprefix("> ").strip().strip("`")
            figure = _figure(text, of)
            if figure and stamp is not None:
                if guessed:
                    guessed = False
                    yield Problem(source.name, _GUESSED, "bad_time", number)
                name, unit, value = figure
                out.sum(name, unit, 0, stamp, value, group, CUMULATIVE)
            elif found := time_in(text):
                stamp, guessed = found, False
            elif match := _RESOURCE.search(text):
                of, group = match[1], _group(text) or group
            elif text and not _is_silent(text):
                yield Problem(source.name, _EXPECTED, line=number)
            if out.full:
                yield from out.batches()
    yield from out.batches()


def _resource(text: str) -> str:
    match = _RESOURCE.search(text)
    return match[1] if match else ""


def _group(path: str) -> dict[str, Value]:
    """Whose figures these are, by the path without what it says of figures and time; {} where it says nothing more.

    Counters of two containers in one series would cancel each other.
    """
    found = _STAMPS.sub("", _RESOURCE.sub("", path)).strip("=<>: ./_-")
    return {"cgroup": found} if found and _RESOURCE.search(path) else {}


def _figure(text: str, of: str) -> tuple[str, str, float] | None:
    """(metric, unit, value) of a line."""
    if match := _PRESSURE.fullmatch(text):
        name = _PRESSURES.get((of, match[1]))
        return (name, "s", int(match[2]) / _MICRO) if name else None
    match = _FIELD.fullmatch(text)
    if match is None or match[1] not in _COUNTERS:
        return None
    name, unit, scale = _COUNTERS[match[1]]
    return name, unit, int(match[2]) / scale


def _is_silent(text: str) -> bool:
    return text.partition(" ")[0] in _SILENT


READER = Reader(id="cgroup_stat", accepts=accepts, read=read)
