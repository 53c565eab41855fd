"""The GPU as dcgm-exporter shows it each second: how busy it is, its clocks, heat, power, memory and faults."""

from __future__ import annotations

import numpy as np

from benchmarks.lab.world import GpuConfig

SCRAPE_S = 1.0
UUID = "GPU-5f0c1a3e-8d27-4b6f-9c41-2e7d90b3a518"
LABELS = f'gpu="0",UUID="{UUID}",pci_bus_id="00000000:3B:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3"'
TOTAL_MIB, RESERVED_MIB, CONTEXT_MIB = 81_559, 600, 900
"""Memory of the board, of the driver, and what a process takes beyond its share for its context."""
CLOCK_MHZ, MEMORY_MHZ, LIMIT_W, IDLE_W = 1980, 2619, 700, 120
MIB = 2**20
UNCORRECTABLE = frozenset({48, 94, 95})
"""Xid codes that go with an uncorrectable ECC error."""


class Dcgm:
    """Pages by Unix milliseconds. The last Xid stays on the page until the next one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.pages: dict[int, bytes] = {}
        self.xid = self.uncorrected = 0
        self._spent = np.zeros(3)

    def fault(self, xid: int) -> None:
        """The driver reported a fault."""
        self.xid = xid
        self.uncorrected += xid in UNCORRECTABLE

    def scrape(self, stamp: int, gpu: GpuConfig, spent: np.ndarray, share: float) -> None:
        """Keep the page; `spent` as `Server.spent`, `share` is what engines that are up were given of the memory."""
        busy, sms = (float(seconds) / SCRAPE_S for seconds in (spent - self._spent)[1:])
        self._spent = spent
        busy = min(busy + gpu.others * (1 - min(busy, 1.0)), 1.0)
        sms = min((1 - gpu.others) * min(sms, 1.0) + gpu.others, 1.0)
        drawn = (IDLE_W + (LIMIT_W - IDLE_W) * sms * gpu.clock**2) * (1 + self.rng.normal(0, 0.01))
        used = share * TOTAL_MIB + (CONTEXT_MIB if share else 0) + gpu.others_bytes / MIB
        told = {
            "DEV_SM_CLOCK": round(CLOCK_MHZ * gpu.clock) // 15 * 15,
            "DEV_MEM_CLOCK": MEMORY_MHZ,
            "DEV_GPU_TEMP": round(gpu.celsius + 8 * sms + self.rng.normal(0, 0.5)),
            "DEV_POWER_USAGE": f"{min(drawn, LIMIT_W):.3f}",
            "DEV_ENFORCED_POWER_LIMIT": LIMIT_W,
            "DEV_CLOCKS_EVENT_REASONS": gpu.reasons,
            "DEV_GPU_UTIL": round(100 * busy),
            "DEV_XID_ERRORS": self.xid,
            "DEV_ECC_DBE_VOL_TOTAL": self.uncorrected,
            "DEV_FB_USED": round(used),
            "DEV_FB_FREE": round(TOTAL_MIB - RESERVED_MIB - used),
            "DEV_FB_RESERVED": RESERVED_MIB,
            "PROF_SM_ACTIVE": f"{sms:.6f}",
            "PROF_PIPE_TENSOR_ACTIVE": f"{0.4 * sms:.6f}",
            "PROF_DRAM_ACTIVE": f"{0.6 * sms:.6f}",
        }
        self.pages[stamp] = "".join(_sample(name, value) for name, value in told.items()).encode()


def _sample(name: str, value: object) -> str:
    kind = "counter" if name.endswith("TOTAL") else "gauge"
    name = f"DCGM_FI_{name}"
    return f'# HELP {name} As named.\n# TYPE {name} {kind}\n{name}{{{LABELS},Hostname="node-a"}} {value}\n'
