"""Evidence made up to measure how symptoms and windows are found: a drifting service, and one fault."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from correlator.model import names as n
from correlator.model.evidence import BLOCK_NS, Event, Evidence, Window, Windows, with_windows
from tests.correlator.join.telemetry import T0, at

BLOCK_S = BLOCK_NS / 1e9


def drift(rng: np.random.Generator, blocks: int, memory: float, size: float = 0.15) -> np.ndarray:
    """A factor a block: an AR(1) in logarithms with standard deviation `size`; `memory` is what lasts."""
    log = np.zeros(blocks)
    log[0] = rng.normal(0, size)
    for i in range(1, blocks):
        log[i] = memory * log[i - 1] + rng.normal(0, size * np.sqrt(1 - memory**2))
    return np.exp(log)


def service(
    seconds: float = 160,
    seed: int = 0,
    rate: float = 5,
    fault: Callable[[pd.DataFrame], pd.DataFrame] = lambda requests: requests,
    events: tuple[Event, ...] = (),
    memory: float = 0.5,
) -> Evidence:
    """Requests of about 0.2 s with drift, changed by `fault`, which sees them with their second `t`."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, seconds, int(seconds * rate)))
    level = drift(rng, int(seconds // BLOCK_S) + 1, memory)[(t // BLOCK_S).astype(int)]
    requests = pd.DataFrame(
        {
            "t": t,
            "trace_id": [f"t{i}" for i in range(len(t))],
            "start": T0 + (t * 1e9).astype(np.int64),
            "host": "node",
            "service": "rag",
            n.LATENCY.name: 0.2 * level * rng.lognormal(0, 0.3, len(t)),
            n.ERROR.name: (rng.random(len(t)) < 0.005).astype(float),
        }
    )
    series = pd.DataFrame({"start": T0 + np.arange(0, seconds, 5).astype(np.int64) * 10**9, "host": "node"})
    return Evidence(requests=fault(requests).drop(columns="t"), series=series, events=events)


def slower(factor: float, since: float, until: float = np.inf) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Latency multiplied between two seconds."""

    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        hit = requests["t"].between(since, until)
        return requests.assign(**{n.LATENCY.name: requests[n.LATENCY.name] * np.where(hit, factor, 1.0)})

    return fault


def asked(evidence: Evidence, seed: int, memory: float, surge: float = 1.0) -> Evidence:
    """What is asked of the service drifts as its latency does but by itself, and its rate is `surge` times as high
    after 90 seconds."""
    rng = np.random.default_rng([seed, 1])
    rows = len(evidence.series)
    blocks = drift(rng, rows // 2 + 1, memory)[np.arange(rows) // 2]
    rate = 5 * blocks * rng.normal(1, 0.1, rows) * np.where(evidence.series["start"] >= at(90), surge, 1.0)
    tokens = 300 * rng.lognormal(0, 0.3, len(evidence.requests))
    return Evidence(
        requests=evidence.requests.assign(**{n.INPUT_TOKENS.name: tokens}),
        series=evidence.series.assign(**{n.ARRIVAL_RATE.name: rate}),
    )


def cut(evidence: Evidence, middle: float = 80, end: float = 160) -> Evidence:
    """Evidence with windows before and after a second."""
    return with_windows(evidence, Windows(Window(at(0), at(middle)), Window(at(middle), at(end))))
