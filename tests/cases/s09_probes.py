"""Health probes that end an engine which works, or one that has not come up yet."""

from __future__ import annotations

from tests.cases.inputs import CHANGE, END, call, calls, counted, event, events, failed, page, ready, started, stats
from tests.cases.report import Files, Report

LATE = 'Get "http://10.0.0.7:8000/health": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
RESTARTED = "Container vllm failed liveness probe, will be restarted"


def flapping() -> Files:
    """Restarts by the probe at two of the report's flaps, while the engine's counter of tokens moves on.

    Requests fail for fifteen seconds after a restart.
    """
    flaps = (CHANGE + 20, CHANGE + 75)
    told = [e for t in flaps for e in (event(t - 1, "Unhealthy", f"Liveness probe failed: {LATE}"),
                                        event(t, "Killing", RESTARTED))]  # fmt: skip
    lost = calls(lambda i, t: failed(i, t, "Connection refused") if any(f <= t < f + 15 for f in flaps) else call(i, t))
    moving = page(iteration_tokens_total_count=counted(40, 40), generation_tokens_total=counted(500, 500))
    return {"events.json": events(told), "calls.binpb": lost, "metrics.prom": moving}


def never_up() -> Files:
    """The probe begins after 120 s, when weights are still being read: killed again and again, every call fails.

    Before it an older, smaller model served.
    """
    starts = [CHANGE + 5 + 150 * i for i in range(4)]
    told = []
    for t in starts:
        told.append(event(t + 140, "Unhealthy", "Liveness probe failed: Get \"http://10.0.0.7:8000/health\": dial tcp "
                    "10.0.0.7:8000: connect: connection refused"))  # fmt: skip
        told.append(event(t + 145, "Killing", RESTARTED))
    log = [*started(-20), ready(-10), *(line for t in starts for line in started(t))]
    down = calls(lambda i, t: call(i, t) if t < CHANGE else failed(i, t, "Connection refused"), 720.0)
    return {"events.json": events(told, 720.0), "calls.binpb": down, "vllm.log": "".join(log)}


def marked_unready(message: str, share: int) -> Files:
    """Under load /health takes longer than the probe's second; requests fail while the pod is not ready.

    The engine goes on: its line of every ten seconds, its counter.
    """
    moments = [CHANGE + 10 + 15 * i for i in range(7)]
    told = [event(t, "Unhealthy", f"Readiness probe failed: {LATE}") for t in moments]
    lost = calls(lambda i, t: failed(i, t, message) if any(m <= t < m + share for m in moments) else call(i, t))
    log = [*started(-20), ready(-10)]
    log += [stats(t, 900.0 if t < CHANGE else 1500.0 + t % 9, 16 if t < CHANGE else 64, 3, 55.0) for t in _tens()]
    moving = page(generation_tokens_total=counted(900, 1500))
    return {"events.json": events(told), "calls.binpb": lost, "vllm.log": "".join(log), "metrics.prom": moving}


def _tens() -> range:
    return range(0, int(END), 10)


CASES = (
    Report(
        id="C067",
        agree=2,
        cause="health_probe_misfit",
        decisive=True,
        suspects=("gpu_hardware_fault", "gpu_memory_exhaustion"),
        files=flapping,
    ),
    Report(
        id="C068",
        agree=3,
        cause="health_probe_misfit",
        suspects=("model_load_failure", "gpu_memory_exhaustion"),
        files=never_up,
        end=720.0,
    ),
    Report(
        id="C070",
        agree=3,
        cause="health_probe_misfit",
        suspects=("gpu_hardware_fault", "retry_storm"),
        files=lambda: marked_unready("HTTP 500: upstream connect error", 5),
    ),
    Report(
        id="C071",
        agree=3,
        cause="health_probe_misfit",
        suspects=("gpu_hardware_fault", "retry_storm"),
        files=lambda: marked_unready("HTTP 503: no healthy upstream", 10),
    ),
)
