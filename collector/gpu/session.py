"""NVML while it is open: the GPUs that answer, those that were given up, and whether to open it anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeVar

from collector.gpu.device import Device, gpu, mig_devices
from collector.gpu.events import XidEvents
from collector.gpu.nvml import GONE, NVMLError, nvml
from collector.gpu.otlp import Attributes, Reading
from collector.gpu.processes import Owners

MAX_GPUS = 64
LOOK_EVERY_S = 60.0
"""For MIG devices that were made or removed, and for GPUs that came or went."""
T = TypeVar("T")


class Session:
    """An open NVML. `given_up` maps a GPU's index to its resource, as far as known, and NVML's error."""

    def __init__(self, host: Attributes, owners: Owners) -> None:
        """Open it. Raises NVMLError."""
        nvml.nvmlInit()
        self.given_up: dict[int, tuple[Attributes, int]] = {}
        self.gpus: dict[int, Device] = {}
        self._migs: dict[int, list[Device]] = {}
        self._look_at = 0.0
        try:
            self._host: Attributes = {**host, "hw.driver_version": nvml.nvmlSystemGetDriverVersion()}
            self._count = nvml.nvmlDeviceGetCount()
            for index in range(min(self._count, MAX_GPUS)):
                self._open(index, owners)
            self.xids = XidEvents(self.gpus.values())
        except NVMLError:
            self._shut_down()
            raise

    def close(self) -> None:
        """Close it, whatever the driver says."""
        with suppress(NVMLError):
            self.xids.close()
        self._shut_down()

    @property
    def devices(self) -> list[Device]:
        """GPUs that were not given up, each followed by its MIG devices."""
        return [d for i, gpu in self.gpus.items() for d in (gpu, *self._migs.get(i, ())) if i not in self.given_up]

    def sample(self, now: float) -> Iterator[tuple[Device, list[Reading]]]:
        """What each device tells at `now` (monotonic s). Raises NVMLError if the driver is gone."""
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY_S
            for index, one in self.gpus.items():
                self._migs[index] = self._attempt(index, one.resource, partial(mig_devices, one)) or []
        for device in self.devices:
            index = int(device.resource["gpu"])
            readings = self._attempt(index, device.resource, partial(device.read, now))
            if readings is not None:
                yield device, readings

    def has_changed(self) -> bool:
        """Are there more or fewer GPUs than when it was opened? Raises NVMLError."""
        return bool(nvml.nvmlDeviceGetCount() != self._count)

    def _open(self, index: int, owners: Owners) -> None:
        device = self._attempt(index, {**self._host, "gpu": index}, partial(gpu, index, self._host, owners))
        if device is not None:
            self.gpus[index] = device

    def _attempt(self, index: int, resource: Attributes, ask: Callable[[], T]) -> T | None:
        """The answer; a GPU that fails as a whole is given up. Raises NVMLError if the driver is gone."""
        if index in self.given_up:
            return None
        try:
            return ask()
        except NVMLError as error:
            if error.value in GONE:
                raise
            self.given_up[index] = resource, error.value
            return None

    @staticmethod
    def _shut_down() -> None:
        with suppress(NVMLError):
            nvml.nvmlShutdown()
