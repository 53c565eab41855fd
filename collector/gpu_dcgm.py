"""NVIDIA DCGM two ways: `dcgmi dmon` as a child process (profiling fields, 0.2 s and up), or dcgm-exporter as a target.

Values keep DCGM's names and units, so that both ways say the same.
"""

from __future__ import annotations

import logging
import re
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from collector.gpu.child import Child
from collector.gpu.dcgm_fields import FIRST_PROFILING_ID, PREFIX
from collector.gpu.dmon_table import Row, Table
from collector.gpu.otlp import Attributes, Reading, metrics_request
from collector.gpu.outbox import Outbox
from collector.gpu.settings import DcgmiSettings
from collector.scraping.targets import ScrapeJob
from collector.sink import Sink
from correlator.model.records import Signal

__all__ = ["DcgmState", "DcgmiSampler", "DcgmiSettings", "exporter_job"]

SCOPE = "gpu_dcgm"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
SILENCE_S = 30.0
DISCOVERY_TIMEOUT_S = 10.0
_DEVICE = re.compile(r"\|\s*(\d+)\s*\|\s*Name:\s*(.*?)\s*\|")
_UUID = re.compile(r"Device UUID:\s*(\S+)")
_LOG = logging.getLogger(__name__)


def exporter_job(address: str = "localhost:9400", interval_s: float = 5.0) -> ScrapeJob:
    """A scrape job for a dcgm-exporter; the default is its usual address."""
    return ScrapeJob(name="dcgm-exporter", targets=(address,), interval_s=interval_s)


@dataclass(frozen=True, slots=True)
class DcgmState:
    """`available` is None before the first row; False comes with a reason. `profiling`: are those fields asked for?

    Keys of `counts`: starts, rows, faults (lines and cells that were not as expected), and those of Outbox.
    """

    available: bool | None
    reason: str
    profiling: bool
    unix_nano: int | None
    counts: dict[str, int]


class DcgmiSampler:
    """Runs `dcgmi dmon` from `start` to `stop`, anew with growing pauses whenever it ends.

    Where it ends without a row, the next run leaves the profiling fields out: some GPUs refuse all for their sake.
    """

    def __init__(
        self, settings: DcgmiSettings, host_name: str, sink: Sink, unix_nano: Callable[[], int] = time.time_ns
    ) -> None:
        self._settings, self._unix_nano = settings, unix_nano
        self._host: Attributes = {"host.name": host_name}
        self._plain = tuple(field for field in settings.fields if field < FIRST_PROFILING_ID)
        self._outbox = Outbox(sink)
        self._thread = threading.Thread(target=self._run, name=SCOPE, daemon=True)
        self._stopping = threading.Event()
        self._child: Child | None = None
        self._gpus: dict[str, Attributes] = {}
        self._available: bool | None = None
        self._reason = ""
        self._profiling = self._plain != settings.fields
        self._last_unix_nano: int | None = None
        self._counts: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to sample; once only."""
        self._thread.start()

    def stop(self, grace_s: float = 5.0) -> None:
        """End the child process and let what it printed reach the sink."""
        self._stopping.set()
        if child := self._child:
            child.kill()
        if self._thread.is_alive():
            self._thread.join(grace_s)
        self._outbox.drain(grace_s)

    def state(self) -> DcgmState:
        """What is sampled now, and why if nothing is."""
        counts = {**self._counts, **self._outbox.counts}
        return DcgmState(self._available, self._reason, self._profiling, self._last_unix_nano, counts)

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            rows = self._counts["rows"]
            try:
                reason = self._watch()
            except Exception as error:
                reason = f"{self._settings.program}: {error}"
            if self._stopping.is_set():
                return
            self._tell(False, reason)
            if self._counts["rows"] > rows:
                pause_s = FIRST_PAUSE_S
            elif self._plain and self._plain != self._settings.fields:
                self._profiling = not self._profiling
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _watch(self) -> str:
        """Sample from one run of the program; why it ended. Raises OSError if it cannot be started."""
        self._gpus = _discovered(self._settings.program)
        fields = self._settings.fields if self._profiling else self._plain
        delay_ms = round(self._settings.interval_s * 1000)
        child = Child([self._settings.program, "dmon", "-e", ",".join(map(str, fields)), "-d", str(delay_ms)])
        self._child = child
        self._counts["starts"] += 1
        try:
            fault = self._read(child)
        finally:
            self._child = None
            status = child.close()
        return f"{self._settings.program} ended with status {status}: {fault or 'no reason given'}"

    def _read(self, child: Child) -> str:
        """Take what it prints until it ends; the last line that was no row."""
        table = Table()
        bursts = child.bursts(max(SILENCE_S, 10 * self._settings.interval_s))
        while not self._stopping.is_set() and (lines := next(bursts, None)) is not None:
            faults = table.faults
            rows = [row for line in lines if (row := table.row(line))]
            self._counts["faults"] += table.faults - faults
            if rows:
                self._tell(True, "")
                self._take(rows)
        return table.fault

    def _take(self, rows: list[Row]) -> None:
        self._last_unix_nano = unix_nano = self._unix_nano()
        self._counts["rows"] += len(rows)
        batches = [(self._resource(row.entity), unix_nano, _readings(row)) for row in rows]
        self._outbox.sample(Signal.METRICS, metrics_request(SCOPE, batches))

    def _resource(self, entity: str) -> Attributes:
        kind, _, index = entity.partition(" ")
        if kind != "GPU" or not index.isdigit():
            return {**self._host, "dcgm.entity": entity}
        return {**self._host, "gpu": int(index), **self._gpus.get(index, {})}

    def _tell(self, available: bool, reason: str) -> None:
        if (available, reason) != (self._available, self._reason):
            _LOG.log(logging.INFO if available else logging.WARNING, "DCGM sampling is %s", reason or "on")
        self._available, self._reason = available, reason


def _readings(row: Row) -> list[Reading]:
    return [
        Reading(PREFIX + field.name, field.unit, value, "counter" if field.kind == "sum" else "gauge")
        for field, value in row.values
    ]


def _discovered(program: str) -> dict[str, Attributes]:
    """Id and model of each GPU by DCGM's number, as far as `dcgmi discovery` tells. Raises OSError without dcgmi."""
    try:
        told = subprocess.run(
            [program, "discovery", "-l"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DISCOVERY_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {}
    gpus: dict[str, dict[str, str]] = defaultdict(dict)
    index = ""
    for line in told.stdout.decode(errors="replace").splitlines():
        if device := _DEVICE.match(line):
            index = device[1]
            gpus[index]["gpu.model"] = device[2]
        if index and (uuid := _UUID.search(line)):
            gpus[index]["hw.id"] = uuid[1]
    return {index: dict(gpu) for index, gpu in gpus.items()}
