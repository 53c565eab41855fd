"""`nvidia-smi --query-gpu=… --format=csv` and `--query-compute-apps=…`: rows under a header that names the columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from collector.files._gpu_fields import USED_HERE, Told, canonical
from collector.files._local_clock import naive_unix_nano
from correlator.model.records import Problem

_COLUMN = re.compile(r"([\w.]+)(?: \[([^\]]+)\])?")
_KNOWN = re.compile(
    r"(?:timestamp|index|uuid|gpu_uuid|gpu_name|name|pid|process_name|memory\.\w+|utilization\.\w+|power\.[\w.]+"
    r"|clocks[\w.]*|temperature\.\w+|pcie\.[\w.]+|pci\.[\w.]+|ecc\.[\w.]+|pstate|fan\.speed|used_(?:gpu_)?memory)"
)
_STAMPED = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?, ")
_APPS = frozenset({"pid", "used_memory", "used_gpu_memory"})


@dataclass(frozen=True, slots=True)
class Header:
    """Columns by nvidia-smi's field names, the unit of each, and where in the line they begin."""

    names: tuple[str, ...]
    units: dict[str, str]
    offset: int

    @property
    def is_apps(self) -> bool:
        return "pid" in self.names

    @property
    def unused(self) -> list[str]:
        return [name for name in self.names if name not in USED_HERE | _APPS | {"process_name"}]


def header_of(text: str) -> Header | None:
    """The header on a line, behind whatever prefix; None where it is none."""
    start = _KNOWN.search(text)
    cells = [_COLUMN.fullmatch(cell.strip()) for cell in text[start.start() :].split(",")] if start else []
    known = [bool(cell and _KNOWN.fullmatch(cell[1])) for cell in cells]
    if start is None or len(cells) < 2 or not all(cells) or 2 * sum(known) < len(known):
        return None
    found = [(canonical(cell[1]), cell[2] or "") for cell in cells if cell]
    return Header(tuple(name for name, _ in found), dict(found), start.start())


def lacks_header(text: str) -> bool:
    """A row as `noheader` prints it: nothing says what its columns are."""
    return bool(_STAMPED.search(text)) and text.count(", ") >= 2


def rows(name: str, lines: Iterable[tuple[int, str]], units: dict[str, str]) -> Iterator[Told | Problem]:
    """Each row; `units` is filled with those of the header's columns."""
    header: Header | None = None
    for line, text in lines:
        if found := header_of(text):
            header = found
            units.update(found.units)
            if found.unused:
                yield Problem(name, f"columns that mean no signal: {', '.join(found.unused)}", "unsupported", line)
        elif header is None:
            if lacks_header(text):
                yield Problem(name, "expected a header with the columns' names (--format=csv, not noheader)", line=line)
                return
        elif text.strip():
            yield _row(name, line, text[header.offset :], header)


def _row(name: str, line: int, text: str, header: Header) -> Told | Problem:
    cells = [cell.strip() for cell in text.split(",")]
    if header.is_apps and len(cells) > len(header.names):  # a process name may hold commas
        cells = _rejoined(cells, header.names.index("process_name") if "process_name" in header.names else 0, header)
    if len(cells) != len(header.names):
        return Problem(name, f"expected {len(header.names)} columns as in the header, found {len(cells)}", line=line)
    fields = dict(zip(header.names, cells, strict=True))
    stamp = fields.get("timestamp")
    unix_nano = None if stamp is None else naive_unix_nano(stamp)
    if stamp is not None and unix_nano is None:
        return Problem(name, f"expected a time like 2025/03/06 17:59:55.942, found {stamp[:40]!r}", "bad_time", line)
    return _process(line, fields, unix_nano) if header.is_apps else Told(line, fields, unix_nano)


def _process(line: int, fields: dict[str, str], unix_nano: int | None) -> Told:
    """A row of compute-apps: only who the GPU is, and the process."""
    memory = fields.get("used_gpu_memory", fields.get("used_memory", ""))
    gpu = {name: value for name, value in fields.items() if name in ("uuid", "index", "pci.bus_id")}
    return Told(line, gpu, unix_nano, ((fields["pid"], memory, ""),))


def _rejoined(cells: list[str], at: int, header: Header) -> list[str]:
    extra = len(cells) - len(header.names)
    return [*cells[:at], ",".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]
