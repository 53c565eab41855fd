"""The report of `nvidia-smi -q`, as text or XML: a path of section names → the field of `--query-gpu` it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collector.files._gpu_fields import Told

Path = tuple[str, ...]
_REASON_PREFIX = re.compile(r"clocks_(?:event|throttle)_reasons?_")
_FIELDS: dict[tuple[str, str], str] = {
    ("", "product_name"): "name",
    ("", "gpu_uuid"): "uuid",
    ("", "uuid"): "uuid",
    **{("fb_memory_usage", name): f"memory.{name}" for name in ("total", "reserved", "used", "free")},
    **{("utilization", name): "utilization.gpu" for name in ("gpu", "gpu_util")},
    **{("utilization", name): "utilization.memory" for name in ("memory", "memory_util")},
    **{("temperature", name): "temperature.gpu" for name in ("gpu_current_temp", "gpu_temp")},
    **{("temperature", name): "temperature.memory" for name in ("memory_current_temp", "memory_temp")},
    **{
        (section, name): "power.draw"
        for section in ("power_readings", "gpu_power_readings")
        for name in ("power_draw", "average_power_draw", "instant_power_draw")
    },
    **{
        (section, name): "power.limit"
        for section in ("power_readings", "gpu_power_readings")
        for name in ("enforced_power_limit", "current_power_limit", "power_limit")
    },
    **{("clocks", name): "clocks.sm" for name in ("sm", "sm_clock")},
    **{("clocks", name): "clocks.mem" for name in ("memory", "mem_clock")},
    **{("pci", name): "pcie.link.width.current" for name in ("link_width_current", "current_link_width")},
}
_REASONS = {
    "idle": "gpu_idle",
    "gpu_idle": "gpu_idle",
    "hw_power_brake": "hw_power_brake_slowdown",
    "display_clock_setting": "display_clocks_setting",
}
_SKIPPED = frozenset({"mig_devices", "supported_clocks", "bar1_memory_usage", "conf_compute_protected_memory_usage",
                      "remapped_rows", "max_clocks", "applications_clocks", "default_applications_clocks"})  # fmt: skip
MAX_PROCESSES = 128


def normal(name: str) -> str:
    """`GPU Current Temp` and `gpu_current_temp` alike."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


@dataclass(slots=True)
class Report:
    """What is gathered of one GPU until its block ends."""

    line: int
    unix_nano: int | None
    index: int
    fields: dict[str, str] = field(default_factory=dict)
    processes: list[tuple[str, str, str]] = field(default_factory=list)
    _errors: dict[str, int] = field(default_factory=dict)
    _pid: str = ""

    def add(self, path: Path, value: str) -> None:
        """Take in one value; the path is that below the GPU, normal names."""
        if not _SKIPPED.isdisjoint(path):
            return
        section, name = (path[0] if len(path) > 1 else ""), path[-1]
        if section == "processes":
            self._process(name, value)
        elif section in ("clocks_event_reasons", "clocks_throttle_reasons"):
            reason = _REASON_PREFIX.sub("", name)
            self.fields[f"clocks_event_reasons.{_REASONS.get(reason, reason)}"] = value
        elif section in ("ecc_errors", "ecc_error_count") and "volatile" in path:
            self._error("_".join(path[2:]), value)
        elif known := _FIELDS.get((section, name)):
            self.fields.setdefault(known, value)

    def told(self) -> Told:
        """The GPU as one row."""
        errors = {f"ecc.errors.{kind}.volatile.total": str(count) for kind, count in self._errors.items()}
        fields = {"index": str(self.index), **self.fields, **errors}
        return Told(self.line, fields, self.unix_nano, tuple(self.processes[:MAX_PROCESSES]))

    def _process(self, name: str, value: str) -> None:
        if name in ("pid", "process_id"):
            self._pid = value
        elif name in ("used_memory", "used_gpu_memory") and self._pid:
            self.processes.append((self._pid, value, ""))

    def _error(self, name: str, value: str) -> None:
        """Single- and double-bit totals of old drivers, SRAM and DRAM counts of new ones."""
        if not value.isdigit():
            return
        if "uncorrectable" in name or name == "double_bit_total":
            self._errors["uncorrected"] = self._errors.get("uncorrected", 0) + int(value)
        elif "correctable" in name or name == "single_bit_total":
            self._errors["corrected"] = self._errors.get("corrected", 0) + int(value)


def closed(report: Report | None) -> Iterator[Told]:
    """The row of a report that is open."""
    if report is not None and report.fields:
        yield report.told()
