"""Xid errors as NVML reports them: waiting for one is how the sampler spends its time between two samples."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass

from collector.gpu.device import Device
from collector.gpu.nvml import Handle, NVMLError, nvml

_NO_INSTANCE = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Xid:
    """One Xid. `device` is None where NVML names none that we know; `instance` is the MIG instance, if any."""

    code: int
    device: Device | None
    instance: int | None


class XidEvents:
    """The event set of the GPUs that have events; `deaf` while there is none to wait on."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self._devices = {_address(device.handle): device for device in devices}
        self._set: Handle | None = None
        self.deaf = True
        try:
            self._set = nvml.nvmlEventSetCreate()
        except NVMLError:
            return
        self.deaf = not any([self._register(device) for device in self._devices.values()])

    def _register(self, device: Device) -> bool:
        try:
            nvml.nvmlDeviceRegisterEvents(device.handle, nvml.nvmlEventTypeXidCriticalError, self._set)
        except NVMLError as error:
            device.missing["xid"] = str(error)
            return False
        return True

    def wait(self, timeout_s: float) -> Xid | None:
        """The next Xid, None if there is none in time. Raises NVMLError."""
        try:
            event = nvml.nvmlEventSetWait_v2(self._set, max(1, int(timeout_s * 1000)))
        except nvml.NVMLError_Timeout:
            return None
        instance = None if event.gpuInstanceId == _NO_INSTANCE else int(event.gpuInstanceId)
        return Xid(int(event.eventData), self._devices.get(_address(event.device)), instance)

    def close(self) -> None:
        """Free the set. Raises NVMLError."""
        if self._set is not None:
            nvml.nvmlEventSetFree(self._set)
            self._set = None


def _address(handle: Handle) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value
