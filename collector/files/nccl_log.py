"""NCCL's INFO and WARN lines (NCCL_DEBUG): which transports connect the ranks, version and network as facts, failures
and fallbacks as named events. NCCL writes no time; without a stamp before the lines the file's own time is used."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from collector.attributes import Value
from collector.files._app_record import Record
from collector.files._app_text import stamp_of
from collector.files._contract import Options, Reader, Source
from collector.files._log_file import Log, Sink, read_records
from collector.files._paste import Head, Peeled, whole
from collector.files._share import score
from collector.files._stamps import Years
from collector.files._uptime import file_time
from correlator.model.records import Batch, Problem

SURE = 0.92
TRANSPORTS = 100
"""Different transports told of one file; NCCL has a dozen."""
_LINE = re.compile(
    r"(?:(\S+?):(\d+):(\d+) \[(\d+)\] )?(?:[\w./]+:\d+ )?NCCL (INFO|WARN|TRACE|VERSION) ?|NCCL version (?=\d)"
)
_WATCHDOG = re.compile(r"ProcessGroupNCCL|Watchdog caught collective|NCCL error")
_KLOG = re.compile(r"\[([EWIF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ")
_VIA = re.compile(r"via((?:p2p|shm|net|collnet|nvls|direct)[\w/]*?)(?=comm0x|$|\s)", re.IGNORECASE)
_FACTS = (
    ("nccl_version", re.compile(r"NCCL version ([\w.+]+)")),
    ("nccl_network", re.compile(r"Using network ([\w/.-]+)")),
    ("nccl_ranks", re.compile(r"\bnranks (\d+)\b.*Init COMPLETE")),
    ("nccl_p2p_disabled", re.compile(r"NCCL_P2P_DISABLE set by environment to (\d)")),
)
_EVENTS = (
    ("watchdogcaughtcollectiveoperationtimeout", "tollens.nccl_failure"),
    ("ncclunhandledcudaerror", "tollens.nccl_failure"),
    ("ncclsystemerror", "tollens.nccl_failure"),
    ("ncclremoteerror", "tollens.nccl_failure"),
    ("gotcompletion", "tollens.nccl_failure"),
    ("connectionclosedbyremotepeer", "tollens.nccl_failure"),
    ("nodevicefound", "tollens.nccl_fallback"),
    ("p2pisdisabledbetween", "tollens.nccl_fallback"),
    ("couldnotenablep2p", "tollens.nccl_fallback"),
    ("failedtoopenlibibverbs", "tollens.nccl_fallback"),
    ("creatingsegment", "tollens.shared_memory_failure"),
    ("nospaceleftondevice", "tollens.shared_memory_failure"),
)


def accepts(source: Source) -> float:
    """By the share of NCCL's lines."""
    return score(source, SURE, lambda text: "NCCL" in text and _LINE.search(text, 0, 200))


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of logs; `now` serves only to date stamps without a year."""
    log = Log("nccl_log", "nccl", _begins, file_time(source, options))
    yield from read_records(source, options, now, log, _Meaning())


def _begins(line: Peeled, years: Years) -> Head | None:
    match = _LINE.search(line.text, 0, 400)
    if match and match[5]:
        stamp = stamp_of(line.text[: match.start()], years) if match.start() else None
        names = {"host.name": match[1], "process.pid": match[2], "cuda.device": match[4]}
        level = {"WARN": "WARNING", "INFO": "INFO"}.get(match[5], "")
        text = line.text[match.end() :] if match[5] != "VERSION" else line.text[match.start() :]
        return Head(stamp and stamp.unix_nano, level, text, {key: name for key, name in names.items() if name})
    if klog := _KLOG.search(line.text, 0, 200):
        own = years.unix_nano(int(klog[2]), int(klog[3]), klog[4], klog[5])
        return Head(own, {"E": "ERROR", "W": "WARNING", "F": "FATAL"}.get(klog[1], "INFO"), line.text[klog.start() :])
    stamp = stamp_of(line.text, years)
    if stamp or match or line.unix_nano is not None or _WATCHDOG.search(line.text):
        return Head(stamp and stamp.unix_nano, stamp.level if stamp else "", line.text)
    return None


@dataclass(slots=True)
class _Meaning:
    """Transports are gathered: which ones connect the ranks is one fact of the whole file."""

    transports: set[str] = field(default_factory=set)
    latest: Record | None = None

    def record(self, sink: Sink, record: Record) -> None:
        text, said = " ".join(record.texts), whole(record)
        if record.unix_nano is None:
            sink.missed(record)
            return
        if (match := _VIA.search(said)) and len(self.transports) < TRANSPORTS:
            self.transports.add(match[1].upper().rstrip("/"))
            self.latest = record
            return
        sink.state(record, "nccl", {name: found[1] for name, pattern in _FACTS if (found := pattern.search(text))})
        event = next((event for phrase, event in _EVENTS if phrase in said), "")
        sink.tell(record, event, record.attributes)

    def finish(self, sink: Sink) -> None:
        if self.latest is not None:
            families = sorted({name.split("/")[0] + _network(name) for name in self.transports})
            facts: dict[str, Value] = {"nccl_transport": ",".join(families)}
            sink.state(self.latest, "nccl", facts)


def _network(transport: str) -> str:
    """`/IB` of `NET/IB/0/GDRDMA`: which network matters, its device number does not."""
    parts = transport.split("/")
    return f"/{parts[1]}" if parts[0] == "NET" and len(parts) > 1 else ""


READER = Reader(id="nccl_log", accepts=accepts, read=read, needs_year=True)
