"""What is asked of a GPU at each sample, by name: one function each, NVML's units turned into ours.

Names are those of OpenTelemetry's hardware conventions where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from collector.gpu.nvml import Handle, nvml
from collector.gpu.otlp import Attributes, Kind, Reading

Reader = Callable[[Handle], Iterable[Reading]]

_GPU = {"hw.type": "gpu"}
REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clocks_setting",
}


def memory(handle: Handle) -> Iterator[Reading]:
    """Used memory without what the driver reserves, and the whole; drivers before 510 know nothing of reserved."""
    try:
        info = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
        usable = info.total - info.reserved
    except (nvml.NVMLError_FunctionNotFound, nvml.NVMLError_ArgumentVersionMismatch):
        info = nvml.nvmlDeviceGetMemoryInfo(handle)
        usable = info.total
    yield Reading("hw.gpu.memory.usage", "By", int(info.used), "updowncounter")
    yield Reading("hw.gpu.memory.limit", "By", int(info.total), "updowncounter")
    if usable > 0:
        yield Reading("hw.gpu.memory.utilization", "1", info.used / usable)


def _utilization(handle: Handle) -> Iterator[Reading]:
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    yield Reading("hw.gpu.utilization", "1", rates.gpu / 100, attributes={"hw.gpu.task": "general"})
    yield Reading("mem_copy_util", "1", rates.memory / 100)


def _sm_clock(handle: Handle) -> Iterator[Reading]:
    yield Reading("gpu_sm_clock", "MHz", nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))


def _mem_clock(handle: Handle) -> Iterator[Reading]:
    yield Reading("gpu_mem_clock", "MHz", nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))


def _power(handle: Handle) -> Iterator[Reading]:
    yield Reading("hw.power", "W", nvml.nvmlDeviceGetPowerUsage(handle) / 1000, attributes=_GPU)


def _power_limit(handle: Handle) -> Iterator[Reading]:
    yield Reading("gpu_power_limit", "W", nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000)


def _energy(handle: Handle) -> Iterator[Reading]:
    joules = nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000
    yield Reading("hw.energy", "J", joules, "counter", _GPU)


def _temperature(handle: Handle) -> Iterator[Reading]:
    celsius = nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
    yield Reading("hw.temperature", "Cel", celsius, attributes=_GPU)


def _throttle_reasons(handle: Handle) -> Iterator[Reading]:
    try:
        bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nvml.NVMLError_FunctionNotFound:
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    for bit, reason in REASONS.items():
        yield Reading("gpu_throttle_reason", "1", int(bool(bits & bit)), attributes={"reason": reason})


def _ecc(name: str, kind: int) -> Reader:
    def read(handle: Handle) -> Iterator[Reading]:
        count = nvml.nvmlDeviceGetTotalEccErrors(handle, kind, nvml.NVML_VOLATILE_ECC)
        yield Reading("hw.errors", "{error}", count, "counter", {**_GPU, "error.type": name})

    return read


READERS: dict[str, Reader] = {
    "memory": memory,
    "utilization": _utilization,
    "sm_clock": _sm_clock,
    "mem_clock": _mem_clock,
    "power": _power,
    "power_limit": _power_limit,
    "energy": _energy,
    "temperature": _temperature,
    "throttle_reasons": _throttle_reasons,
    "ecc_corrected": _ecc("corrected", nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
    "ecc_uncorrected": _ecc("uncorrected", nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
}


def pcie_throughput(handle: Handle) -> Iterator[Reading]:
    """PCIe traffic where the device has no byte counters; each of the two calls takes 20 ms."""
    for name, counter in (("pcie_tx", nvml.NVML_PCIE_UTIL_TX_BYTES), ("pcie_rx", nvml.NVML_PCIE_UTIL_RX_BYTES)):
        yield Reading(name, "By/s", nvml.nvmlDeviceGetPcieThroughput(handle, counter) * 1000)


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value that NVML gives by number: all of a device's in one call, each with an error of its own."""

    id: int
    name: str
    unit: str
    factor: int = 1
    kind: Kind = "counter"
    attributes: Attributes = field(default_factory=dict)
    scope: int = 0

    def reading(self, value: int | float) -> Reading:
        """The value in our unit."""
        return Reading(self.name, self.unit, value * self.factor, self.kind, self.attributes)


def _direction(direction: str) -> dict[str, str]:
    return {"network.io.direction": direction}


_ALL_LINKS = 0xFFFFFFFF
_KIB = 1024
_V = FieldValue
FIELDS: dict[str, FieldValue] = {
    "memory_temperature": _V(nvml.NVML_FI_DEV_MEMORY_TEMP, "gpu_memory_temperature", "Cel", kind="gauge"),
    "pcie_tx": _V(nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, "hw.gpu.io", "By", attributes=_direction("transmit")),
    "pcie_rx": _V(nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES, "hw.gpu.io", "By", attributes=_direction("receive")),
    "nvlink_tx": _V(nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, "nvlink_tx", "By", _KIB, scope=_ALL_LINKS),
    "nvlink_rx": _V(nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, "nvlink_rx", "By", _KIB, scope=_ALL_LINKS),
    **{
        f"nvlink_{kind}": _V(id_, "nvlink_errors", "{error}", attributes={"error.type": kind})
        for kind, id_ in (
            ("crc_flit", nvml.NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL),
            ("crc_data", nvml.NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL),
            ("replay", nvml.NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL),
            ("recovery", nvml.NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL),
        )
    },
}
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")


def field_values(handle: Handle, names: Sequence[str]) -> list[tuple[str, Reading | None, int]]:
    """For each name its reading, or None and NVML's error. Raises NVMLError if none can be asked for."""
    asked = [(FIELDS[name].id, FIELDS[name].scope) for name in names]
    answers = nvml.nvmlDeviceGetFieldValues(handle, asked)
    return [(name, *_answer(FIELDS[name], answer)) for name, answer in zip(names, answers, strict=True)]


def _answer(asked: FieldValue, answer: Any) -> tuple[Reading | None, int]:
    if answer.nvmlReturn != nvml.NVML_SUCCESS:
        return None, answer.nvmlReturn
    if not 0 <= answer.valueType < len(_MEMBERS):
        return None, nvml.NVML_ERROR_NOT_SUPPORTED
    return asked.reading(getattr(answer.value, _MEMBERS[answer.valueType])), 0
