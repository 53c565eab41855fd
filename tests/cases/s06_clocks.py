"""Heat, power and clocks: a flag that is always set is not what slows a decode that waits for memory."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import CHANGE, call, calls, smi
from tests.cases.report import Files, Report

RUN = 120.0
ACTIVE, QUIET = "Active", "Not Active"


def hot() -> Files:
    """From 1875 MHz to the 1215 and 1155 MHz that were seen, with the power cap in two of five samples.

    Tokens follow the clock: the report tells only that the sweep stopped at its own guard.
    """

    def clock(t: float) -> float:
        return 1875 if t < CHANGE else 1215 if t < CHANGE + 27 else 1155

    def capped(t: float) -> str:
        return ACTIVE if int(t / 2) % 5 < 2 else QUIET

    told = smi(
        temperature__gpu=lambda t: 70.0 if t < CHANGE else min(92.0, 85 + (t - CHANGE) / 5),
        power__draw=lambda t: 140.0,
        power__limit=lambda t: 140.0,
        clocks__sm=clock,
        utilization__gpu=lambda t: 99.0,
        clocks_event_reasons__hw_thermal_slowdown=lambda t: ACTIVE if t >= CHANGE + 27 else QUIET,
        clocks_event_reasons__sw_power_cap=capped,
    )
    return {"gpu.csv": told, "calls.binpb": calls(lambda i, t: call(i, t, per_token=0.01 * 1875 / clock(t)))}


def capped_at(watts: float, tokens_per_s: float) -> Files:
    """One stream at a power limit that is reached; for C041 the TFLOPS of its kernels stand for tokens a second."""
    told = smi(RUN, power__draw=lambda t: watts - t % 2, power__limit=lambda t: watts, utilization__gpu=lambda t: 99.0)
    return {"gpu.csv": told, "calls.binpb": calls(lambda i, t: call(i, t, per_token=1 / tokens_per_s), RUN)}


def memory_bound(limit: float, clock: float, first: float, active: str) -> Files:
    """Decode reads memory at 9501 MHz, capped or not; only the prefill notices the SM clock."""
    told = smi(
        RUN,
        power__draw=lambda t: min(limit, 340.0),
        power__limit=lambda t: limit,
        clocks__sm=lambda t: clock + t % 15,
        clocks__mem=lambda t: 9501,
        utilization__gpu=lambda t: 99.0,
        clocks_event_reasons__sw_power_cap=lambda t: active if t > 8 else QUIET,
        clocks_event_reasons__hw_thermal_slowdown=lambda t: QUIET,
    )
    return {"gpu.csv": told, "calls.binpb": calls(lambda i, t: call(i, t, first=first, per_token=0.028), RUN)}


CASES = (
    Report(
        id="C038",
        agree=2,
        cause="gpu_throttling",
        decisive=True,
        suspects=("sm_saturation", "gpu_cotenant"),
        files=hot,
    ),
    Report(
        id="C040",
        agree=3,
        cause="gpu_throttling",
        decisive=True,
        suspects=("sm_saturation", "model_change"),
        before=lambda: capped_at(388, 38.23),
        files=lambda: capped_at(230, 25.15),
    ),
    Report(
        id="C041",
        agree=2,
        cause="gpu_throttling",
        decisive=True,
        suspects=("sm_saturation", "model_change"),
        before=lambda: capped_at(1400, 1600),
        files=lambda: capped_at(500, 617),
    ),
    Report(
        id="C043",
        agree=2,
        cause="",
        suspects=("gpu_throttling",),
        before=lambda: memory_bound(350, 1800, 1.00, QUIET),
        files=lambda: memory_bound(315, 1500, 1.03, ACTIVE),
        asked=Kind.LATENCY,
    ),
)
