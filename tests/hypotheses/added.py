"""Signals added to a world: to its series by level, and to chosen requests as a mark with what it costs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.join.ties import tie
from correlator.model import names as n
from correlator.model.evidence import INCIDENT, Evidence
from tests.hypotheses.evidence import seen

NOISE = 0.05
Levels = tuple[float, float]


def with_levels(evidence: Evidence, noise: float = NOISE, **levels: Levels) -> Evidence:
    """The evidence with signals in its series, each by its level in the baseline and in the incident."""
    during = (evidence.series["period"] == INCIDENT).to_numpy()
    rng = np.random.default_rng(17)
    columns = {
        name: np.where(during, then, before) * rng.lognormal(0, noise, len(during))
        for name, (before, then) in levels.items()
    }
    return _tied(evidence, evidence.series.assign(**columns))


def with_course(evidence: Evidence, signal: n.Signal, course: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    """The evidence with a signal in its series that follows the time, which runs from 0 to 1."""
    start = evidence.series["start"].to_numpy(dtype=float)
    at = (start - start.min()) / (start.max() - start.min())
    noise = np.random.default_rng(19).lognormal(0, 0.004, len(at))
    return _tied(evidence, evidence.series.assign(**{signal.name: course(at) * noise}))


def _tied(evidence: Evidence, series: pd.DataFrame) -> Evidence:
    return seen(replace(evidence, series=series, requests=tie(evidence.requests, series)[0]))


def drawn(evidence: Evidence, before: float, then: float) -> np.ndarray:
    """Requests drawn by chance, with another share in either window."""
    during = (evidence.requests["period"] == INCIDENT).to_numpy()
    return np.random.default_rng(23).random(len(during)) < np.where(during, then, before)


def slowed(evidence: Evidence, rows: np.ndarray, part: n.Signal, seconds: float | np.ndarray) -> Evidence:
    """The evidence with these requests so much longer in a part of their ledger, as traces alone tell it."""
    requests = evidence.requests
    extra = np.where(rows, seconds * np.random.default_rng(29).lognormal(0, 0.2, len(requests)), 0.0)
    longer = (part, n.LATENCY, n.SERVER_LATENCY, n.CLIENT_LATENCY)
    requests = requests.assign(**{s.name: requests[s.name] + extra for s in longer})
    requests[n.TIME_PER_OUTPUT_TOKEN.name] = requests[n.DECODE.name] / (requests[n.OUTPUT_TOKENS.name] - 1)
    told = [n.LATENCY.name, f"n.{n.LATENCY.name}"]
    return seen(replace(evidence, requests=requests, series=evidence.series.drop(columns=told)))


def with_columns(evidence: Evidence, **columns: np.ndarray | pd.Series) -> Evidence:
    """The evidence with these columns of its requests."""
    return seen(replace(evidence, requests=evidence.requests.assign(**columns)))
