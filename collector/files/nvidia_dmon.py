"""What `nvidia-smi dmon` and `nvidia-smi pmon` print: rows under a `#` header of short names, one GPU or process each.

`sm` is the share of time in which any kernel ran, not how busy the SMs were. `tviol` is kept as a reason of its own:
the flag has been seen set for hours at full clocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from collector.files._contract import Options, Reader, Source
from collector.files._gpu_fields import Told
from collector.files._gpu_samples import Undated, dated, requests
from collector.files._local_clock import naive_unix_nano
from collector.files._log_lines import LogLines, text_of
from collector.files._share import score
from correlator.model.records import Batch, Problem

SURE = 0.98
EVERY_S = 1.0
"""The interval both commands have unless told otherwise."""
_HEADER = re.compile(r"#\s*(?:Date\s+)?(?:Time\s+)?gpu\s+[a-z]")
_ROW = re.compile(r"#|\s*(?:\d{8}\s+\d\d:\d\d:\d\d\s+)?\d{1,3}(?:\s+(?:[\d.]+|-|[CGM+]+)(?!\S)){2}")
_FIELDS = {
    "gpu": "index",
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "temp": "temperature.gpu",
    "mtemp": "temperature.memory",
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
    "mclk": "clocks.mem",
    "pclk": "clocks.sm",
    "fb": "memory.used",
    "pviol": "power_violation",
    "tviol": "thermal_violation",
    "rxpci": "pcie.rx",
    "txpci": "pcie.tx",
    "sbecc": "ecc.errors.corrected.volatile.total",
    "dbecc": "ecc.errors.uncorrected.volatile.total",
}
_KNOWN = frozenset({*_FIELDS, "Date", "Time", "pid", "type", "command", "enc", "dec", "jpg", "ofa", "bar1", "ccpm"})
_UNITS = {"%": "%", "MB": "MiB", "MB/s": "MB"}


def accepts(source: Source) -> float:
    """By the header that both repeat every few rows, and the share of lines that are rows."""
    if not _HEADER.search(source.head.decode("utf-8", "replace")):
        return 0.0
    return score(source, SURE, lambda text: _HEADER.search(text) or _ROW.match(text))


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Readings named as the NVML sampler names them."""
    units: dict[str, str] = {}
    with source.open() as stream:
        lines = ((number, text_of(raw)) for number, raw in LogLines(stream))
        told = _rows(source.name, lines, units)
        yield from requests(source, READER.id, dated(source, options, told, Undated(EVERY_S)), units)


def _rows(name: str, lines: Iterable[tuple[int, str]], units: dict[str, str]) -> Iterator[Told | Problem]:
    columns: list[str] = []
    offset, said = 0, set[str]()
    for line, text in lines:
        if header := _HEADER.search(text):
            offset = header.start()
            columns = text[offset:].replace("#", " ").split()
            unused = sorted(set(columns) - _KNOWN - said)
            if unused:
                said |= set(unused)
                yield Problem(name, f"columns that mean no signal: {', '.join(unused)}", "unsupported", line)
        elif not columns or not text.strip():
            continue
        elif text[offset:].startswith("#"):
            written = text[offset:].replace("#", " ").split()
            units.update(
                {_FIELDS[c]: _UNITS.get(u, "") for c, u in zip(columns, written, strict=False) if c in _FIELDS}
            )
        else:
            yield _row(name, line, text[offset:], columns)


def _row(name: str, line: int, text: str, columns: list[str]) -> Told | Problem:
    cells = text.split(None, len(columns) - 1)  # the last column of pmon is a command, which may hold blanks
    if len(cells) != len(columns):
        return Problem(name, f"expected {len(columns)} columns as in the header, found {len(cells)}", line=line)
    row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
    if not row["gpu"].isdigit():
        return Problem(name, f"expected the number of a GPU, found {row['gpu'][:20]!r}", line=line, field="gpu")
    unix_nano = None
    if "Date" in row and "Time" in row:
        unix_nano = naive_unix_nano(f"{row['Date']} {row['Time']}")
        if unix_nano is None:
            return Problem(name, f"expected YYYYMMDD HH:MM:SS, found {row['Date']} {row['Time']}", "bad_time", line)
    if "pid" in row:
        return _process(line, row, unix_nano)
    return Told(line, {_FIELDS[c]: value for c, value in row.items() if c in _FIELDS}, unix_nano)


def _process(line: int, row: dict[str, str], unix_nano: int | None) -> Told:
    """A row of pmon: `-` stands where no process runs."""
    told = Told(line, {"index": row["gpu"]}, unix_nano)
    if not row["pid"].isdigit():
        return told
    memory = row.get("fb", "")
    process = (row["pid"], f"{memory} MiB" if memory.isdigit() else "", row.get("sm", ""))
    return Told(line, told.fields, unix_nano, (process,))


READER = Reader(id="nvidia_dmon", accepts=accepts, read=read, needs_year=True)
