"""What nvidia-smi tells of a GPU, by the names of its own `--query-gpu` → the readings that the NVML sampler gives.

Every form that it prints (CSV, table, `-q`, XML) is first brought to these names. A value it does not have
("N/A", "[Not Supported]") gives no reading: it never stands for zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from collector.gpu.otlp import Attributes, Reading
from collector.gpu.readings import REASONS

_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z%/]*)")
_ABSENT = re.compile(
    r"\[?(?:N/?A|Not Supported|Not Available|Unknown|Unknown Error|Insufficient Permissions|-)?\]?", re.I
)
_LOST = re.compile(r"GPU is lost|GPU requires reset|ERR!", re.I)
_FLAGS = {"active": 1, "not active": 0, "enabled": 1, "disabled": 0}
_MIB = 1 << 20
_BYTES = {"mib": _MIB, "gib": _MIB << 10, "kib": 1 << 10, "mb": 1_000_000}
_GPU = {"hw.type": "gpu"}


class Unreadable(ValueError):
    """A value that is neither a number, a flag nor a way to say that there is none."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one GPU (or one process on it) told at one moment, by nvidia-smi's field names."""

    line: int
    fields: Mapping[str, str]
    unix_nano: int | None = None  # by a clock without a zone, read as UTC
    processes: tuple[tuple[str, str, str], ...] = ()  # process id, memory, SM share in % ("" where not told)


@dataclass(slots=True)
class Faults:
    """Field → the first line with a value that could not be read, and that value."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    count: int = 0

    def add(self, name: str, line: int, value: str) -> None:
        self.found.setdefault(name, (line, value))
        self.count += 1


def number(text: str, unit: str = "") -> float | None:
    """The number of `60355 MiB`, in bytes if it is a size, as a share if in %; None where there is none. Raises
    Unreadable. `unit` is the column's, where the value has none."""
    text = text.strip()
    if _ABSENT.fullmatch(text):
        return None
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise Unreadable(text)
    value, written = float(match[1]), (match[2] or unit).lower()
    if written in _BYTES:
        return value * _BYTES[written]
    return value / 100 if written == "%" else value


def is_lost(text: str) -> bool:
    """Does this value say that the GPU fell off the bus or needs a reset?"""
    return bool(_LOST.search(text))


def _flag(text: str, _: str) -> float | None:
    text = text.strip().lower()
    return _FLAGS[text] if text in _FLAGS else number(text)


Convert = Callable[[str, str], float | None]


@dataclass(frozen=True, slots=True)
class _As:
    """The reading that a field becomes."""

    name: str
    unit: str
    attributes: Attributes = field(default_factory=dict)
    counter: bool = False
    convert: Convert = number
    default_unit: str = ""


_FIELDS: dict[str, _As] = {
    "memory.used": _As("hw.gpu.memory.usage", "By", default_unit="MiB"),
    "memory.total": _As("hw.gpu.memory.limit", "By", default_unit="MiB"),
    "utilization.gpu": _As("hw.gpu.utilization", "1", {"hw.gpu.task": "general"}, default_unit="%"),
    "utilization.memory": _As("mem_copy_util", "1", default_unit="%"),
    "clocks.sm": _As("gpu_sm_clock", "MHz"),
    "clocks.mem": _As("gpu_mem_clock", "MHz"),
    "power.draw": _As("hw.power", "W", _GPU),
    "power.limit": _As("gpu_power_limit", "W"),
    "temperature.gpu": _As("hw.temperature", "Cel", _GPU),
    "temperature.memory": _As("gpu_memory_temperature", "Cel"),
    "pcie.link.width.current": _As("pcie_link_width", "{lane}"),
    "pcie.rx": _As("pcie_rx", "By/s", default_unit="MB"),
    "pcie.tx": _As("pcie_tx", "By/s", default_unit="MB"),
    "power_violation": _As("gpu_throttle_reason", "1", {"reason": "sw_power_cap"}, default_unit="%"),
    "thermal_violation": _As("gpu_throttle_reason", "1", {"reason": "thermal_violation"}),
    "pcie.link.gen.current": _As("pcie_link_generation", "1"),
    "ecc.errors.corrected.volatile.total": _As(
        "hw.errors", "{error}", {**_GPU, "error.type": "corrected"}, counter=True
    ),
    "ecc.errors.uncorrected.volatile.total": _As(
        "hw.errors", "{error}", {**_GPU, "error.type": "uncorrected"}, counter=True
    ),
    **{
        f"clocks_event_reasons.{reason}": _As("gpu_throttle_reason", "1", {"reason": reason}, convert=_flag)
        for reason in REASONS.values()
    },
}
_ALSO = {
    "clocks.current.sm": "clocks.sm",
    "clocks.current.memory": "clocks.mem",
    "clocks.current.mem": "clocks.mem",
    "clocks.memory": "clocks.mem",
    "power.draw.average": "power.draw",
    "power.draw.instant": "power.draw",
    "enforced.power.limit": "power.limit",
    "gpu_uuid": "uuid",
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "driver_version": "driver_version",
}
_IDENTITY = {"uuid": "hw.id", "name": "gpu.model", "driver_version": "hw.driver_version"}
ACTIVE = "clocks_event_reasons.active"
USED_HERE = frozenset({*_FIELDS, *_IDENTITY, ACTIVE, "index", "timestamp", "memory.reserved", "memory.free",
                       "pci.bus_id", "host"})  # fmt: skip


def canonical(name: str) -> str:
    """The newest spelling of a query's field."""
    name = name.strip().lower().replace("clocks_throttle_reasons", "clocks_event_reasons")
    return _ALSO.get(name, name)


def resource(told: Told) -> Attributes:
    """Who it is, by the sampler's attributes."""
    out: dict[str, str | int] = {
        key: value for name, key in _IDENTITY.items() if (value := told.fields.get(name, "")) and value != "N/A"
    }
    if (index := told.fields.get("index", "")).isdigit():
        out["gpu"] = int(index)
    if "hw.id" not in out and "gpu" not in out and (bus := told.fields.get("pci.bus_id")):
        out["hw.id"] = bus
    if host := told.fields.get("host"):
        out["host.name"] = host
    return out


def readings(told: Told, units: Mapping[str, str], faults: Faults) -> Iterator[Reading]:
    """Each field that has a value, as a reading; `units` are those of the columns."""
    values: dict[str, float] = {}
    for name, text in told.fields.items():
        known = _FIELDS.get(name)
        if known is None:
            continue
        try:
            value = known.convert(text, units.get(name) or known.default_unit)
        except Unreadable:
            faults.add(name, told.line, text)
            continue
        if value is not None:
            values[name] = value
            yield _reading(known, value)
    yield from _share(told, values, units)
    yield from _reasons(told, faults)
    for pid, memory, share in told.processes:
        yield from _process(pid, memory, share)


def _process(pid: str, memory: str, share: str) -> Iterator[Reading]:
    if not pid.isdigit():
        return
    owner = {"process.pid": int(pid)}
    if (used := _or_none(memory, "MiB")) is not None:
        yield Reading("gpu_process_memory", "By", int(used), "updowncounter", owner)
    if (active := _or_none(share, "%")) is not None:
        yield Reading("gpu_process_sm_util", "1", active, attributes=owner)


def _reading(known: _As, value: float) -> Reading:
    if known.unit == "By":
        return Reading(known.name, known.unit, int(value), "updowncounter", known.attributes)
    return Reading(known.name, known.unit, value, "counter" if known.counter else "gauge", known.attributes)


def _share(told: Told, values: Mapping[str, float], units: Mapping[str, str]) -> Iterator[Reading]:
    """Used memory over what the driver does not reserve, as the sampler computes it."""
    reserved = _or_none(told.fields.get("memory.reserved", ""), units.get("memory.reserved") or "MiB") or 0.0
    used, total = values.get("memory.used"), values.get("memory.total", 0.0) - reserved
    if used is not None and total > 0:
        yield Reading("hw.gpu.memory.utilization", "1", used / total)


def _reasons(told: Told, faults: Faults) -> Iterator[Reading]:
    """The reasons in a bit mask, where they are not told one by one."""
    text = told.fields.get(ACTIVE, "").strip()
    if not text or _ABSENT.fullmatch(text):
        return
    try:
        bits = int(text, 0)
    except ValueError:
        faults.add(ACTIVE, told.line, text)
        return
    for bit, reason in REASONS.items():
        if f"clocks_event_reasons.{reason}" not in told.fields:
            yield Reading("gpu_throttle_reason", "1", int(bool(bits & bit)), attributes={"reason": reason})


def _or_none(text: str, unit: str) -> float | None:
    try:
        return number(text, unit)
    except Unreadable:
        return None
