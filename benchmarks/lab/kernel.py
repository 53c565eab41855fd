"""The kernel's log of the engine's machine, as `dmesg --time-format iso` prints it."""

from __future__ import annotations

from datetime import UTC, datetime

from benchmarks.lab.telemetry import Telemetry
from benchmarks.lab.world import Scenario

NAME = "VLLM::EngineCor"
"""Process names are cut to 15 characters."""
TOLD = {48: "DBE (double bit error) ECC Error, AFBPA 1, Slice 3"}


class KernelLog:
    """Lines in the order they were written."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self.lines: list[str] = []
        self._add(0.0, "docker0: port 1(veth3f2a9c1) entered forwarding state")

    def needed(self, scenario: Scenario) -> bool:
        """Of worlds with a GPU, and of those in which the kernel had to end something."""
        return scenario.baseline.gpu is not None or len(self.lines) > 1

    def xid(self, moment: float, code: int, pid: int) -> None:
        """A GPU's fault."""
        self._add(moment, f"NVRM: Xid (PCI:0000:3b:00): {code}, pid={pid}, name={NAME}, {TOLD[code]}")

    def killed(self, moment: float, pid: int, resident: float) -> None:
        """A process that was ended for want of memory."""
        kib = round(resident / 1024)
        self._add(moment, f"Out of memory: Killed process {pid} ({NAME}) total-vm:{9 * kib}kB, anon-rss:{kib}kB")

    def _add(self, moment: float, text: str) -> None:
        stamp = datetime.fromtimestamp(self._telemetry.epoch + round(moment, 6), UTC)
        self.lines.append(f"{stamp:%Y-%m-%dT%H:%M:%S,%f}+00:00 {text}")
