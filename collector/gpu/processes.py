"""Processes on a GPU: memory and SM share of each, and the container and pod it belongs to where cgroups tell."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collector.attributes import Value
from collector.gpu.nvml import Handle, nvml
from collector.gpu.otlp import Reading

MAX_PROCESSES = 128
_NO_INSTANCE = 0xFFFFFFFF
_MAX_CGROUP_BYTES = 16_384
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
_CONTAINER = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_POD = re.compile(
    r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])"
)

Owner = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Owners:
    """Finds who a process belongs to. NVML speaks of the host's process ids, `proc` may not."""

    proc: Path

    def of(self, pid: int) -> Owner:
        """The process id, and its container and pod where they can be known."""
        owner: Owner = {"process.pid": pid}
        return {**owner, **owner_in(self._cgroup(pid))} if self._is_the_hosts() else owner

    def _is_the_hosts(self) -> bool:
        """Are these the host's processes? Another /proc is mounted for us; ours is only outside of containers."""
        if self.proc != Path("/proc"):
            return True
        try:
            return os.readlink(self.proc / "self" / "ns" / "pid") == _INITIAL_PID_NAMESPACE
        except OSError:
            return False

    def _cgroup(self, pid: int) -> str:
        try:
            with (self.proc / str(pid) / "cgroup").open(encoding="ascii", errors="replace") as stream:
                return stream.read(_MAX_CGROUP_BYTES)
        except OSError:
            return ""


def owner_in(cgroup: str) -> Owner:
    """Container and pod that the text of a cgroup file names."""
    owner: Owner = {}
    if containers := _CONTAINER.findall(cgroup):
        owner["container.id"] = containers[-1]
    if pod := _POD.search(cgroup):
        owner["k8s.pod.uid"] = pod[1].replace("_", "-")
    return owner


def process_memory(handle: Handle, owners: Owners) -> Iterator[Reading]:
    """Memory of each process; one whose memory NVML does not know is left out."""
    for process in nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)[:MAX_PROCESSES]:
        if process.usedGpuMemory is not None:
            attributes = owners.of(process.pid)
            if process.gpuInstanceId != _NO_INSTANCE:
                attributes["gpu_instance_id"] = process.gpuInstanceId
            yield Reading("gpu_process_memory", "By", process.usedGpuMemory, "updowncounter", attributes)


def process_utilization(handle: Handle, since_us: int, owners: Owners) -> tuple[list[Reading], int]:
    """SM share of each process in its latest sample after `since_us`, and the time of the last sample."""
    samples = [s for s in nvml.nvmlDeviceGetProcessUtilization(handle, since_us) if s.pid and s.timeStamp > since_us]
    latest = {sample.pid: sample for sample in sorted(samples, key=lambda sample: sample.timeStamp)}
    readings = [
        Reading("gpu_process_sm_util", "1", sample.smUtil / 100, attributes=owners.of(pid))
        for pid, sample in list(latest.items())[:MAX_PROCESSES]
        if sample.smUtil <= 100
    ]
    return readings, max((sample.timeStamp for sample in samples), default=since_us)
