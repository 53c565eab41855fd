"""One GPU, or one MIG device of it: who it is, what it tells, and what it does not tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from collector.gpu.nvml import ABSENT, FAULTS, GONE, NOTHING_NOW, Handle, NVMLError, nvml
from collector.gpu.otlp import Attributes, Reading
from collector.gpu.processes import Owners, process_memory, process_utilization
from collector.gpu.readings import FIELDS, READERS, Reader, field_values, memory, pcie_throughput

ASK_AGAIN_S = 600.0
"""What a device does not support today it may after a change of driver or mode; asked seldom."""
PCIE_EVERY_S = 5.0
"""Two calls that block for 20 ms each."""
MAX_MIG_DEVICES = 64


@dataclass(slots=True)
class Device:
    """A handle with its resource attributes. `missing` says which readings are absent, and NVML's reason."""

    handle: Handle
    resource: Attributes
    owners: Owners
    readers: Mapping[str, Reader] = field(default_factory=lambda: READERS)
    is_mig: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    _ask_at: dict[str, float] = field(default_factory=dict)
    _utilization_since_us: int = 0

    def read(self, now: float) -> list[Reading]:
        """All it tells now (monotonic s). Raises NVMLError if the device is at fault or the driver gone."""
        out = [reading for name, reader in self.readers.items() for reading in self._ask(name, reader, now)]
        if not self.is_mig:
            out += self._ask("process_memory", self._process_memory, now)
            out += self._ask("process_utilization", self._process_utilization, now)
            out += self._fields(now)
            out += self._pcie(now)
        return out

    def _ask(self, name: str, reader: Reader, now: float) -> list[Reading]:
        if self._ask_at.get(name, now) > now:
            return []
        try:
            readings = list(reader(self.handle))
        except NVMLError as error:
            self._note(name, error.value, now)
            return []
        self.missing.pop(name, None)
        return readings

    def _note(self, name: str, error: int, now: float) -> None:
        """Remember why a reading is absent. Raises NVMLError if that concerns the whole device or driver."""
        if error in FAULTS or error in GONE:
            raise NVMLError(error)
        if error in ABSENT:
            self.missing[name] = str(NVMLError(error))
            self._ask_at[name] = now + ASK_AGAIN_S
        elif error not in NOTHING_NOW:
            self.errors[name] += 1

    def _fields(self, now: float) -> Iterator[Reading]:
        names = [name for name in FIELDS if self._ask_at.get(name, now) <= now]
        if not names:
            return
        try:
            answers = field_values(self.handle, names)
        except NVMLError as error:
            answers = [(name, None, error.value) for name in names]
        for name, reading, code in answers:
            if reading is not None:
                self.missing.pop(name, None)
                yield reading
            else:
                self._note(name, code, now)

    def _pcie(self, now: float) -> list[Reading]:
        if not {"pcie_tx", "pcie_rx"} & self.missing.keys():
            return []
        readings = self._ask("pcie_throughput", pcie_throughput, now)
        if readings:
            self._ask_at["pcie_throughput"] = now + PCIE_EVERY_S
        return readings

    def _process_memory(self, handle: Handle) -> Iterable[Reading]:
        return process_memory(handle, self.owners)

    def _process_utilization(self, handle: Handle) -> Iterable[Reading]:
        readings, self._utilization_since_us = process_utilization(handle, self._utilization_since_us, self.owners)
        return readings


def gpu(index: int, host: Attributes, owners: Owners) -> Device:
    """The GPU of this index. Raises NVMLError."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    uuid, model = nvml.nvmlDeviceGetUUID(handle), nvml.nvmlDeviceGetName(handle)
    return Device(handle, {**host, "hw.id": uuid, "gpu": index, "gpu.model": model}, owners)


def mig_devices(parent: Device) -> list[Device]:
    """The MIG devices of a GPU, none where MIG is off or unknown. Raises NVMLError if the GPU is at fault."""
    try:
        if nvml.nvmlDeviceGetMigMode(parent.handle)[0] != 1:
            return []
        count = min(nvml.nvmlDeviceGetMaxMigDeviceCount(parent.handle), MAX_MIG_DEVICES)
    except NVMLError as error:
        if error.value in FAULTS or error.value in GONE:
            raise
        return []
    return [device for slot in range(count) if (device := _mig_device(parent, slot)) is not None]


def _mig_device(parent: Device, slot: int) -> Device | None:
    try:
        handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent.handle, slot)
        own = {
            "hw.id": nvml.nvmlDeviceGetUUID(handle),
            "hw.parent": parent.resource["hw.id"],
            "gpu.model": nvml.nvmlDeviceGetName(handle),
            "gpu_instance_id": nvml.nvmlDeviceGetGpuInstanceId(handle),
            "compute_instance_id": nvml.nvmlDeviceGetComputeInstanceId(handle),
        }
    except NVMLError as error:
        if error.value in FAULTS or error.value in GONE:
            raise
        return None
    return Device(handle, {**parent.resource, **own}, parent.owners, {"memory": memory}, is_mig=True)
