"""Two runs of a load generator compared by what each says of all its requests: their number, mean and quantiles.

A summary has no blocks to draw from. Its interval counts requests only: for the drift between like runs stands the
smallest effect worth naming. A quantile's interval is that of its order statistic (binomial), turned into seconds
along the log-normal through the run's median and that quantile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist

from correlator.model import names as n
from correlator.model.evidence import Evidence, Fact, Interval, Windows

NAMES = {n.TIME_PER_OUTPUT_TOKEN: "client.tpot"}
LEVEL = 0.95
MIN_REQUESTS = 500
"""Below it fewer than five requests lie beyond the 99th percentile."""
QUANTILE = 0.99


@dataclass(frozen=True, slots=True)
class Compared:
    """A statistic of two runs; `p_above` is the chance of such a rise between equal runs."""

    baseline: float
    incident: float
    change: Interval
    p_above: float


def tail(evidence: Evidence, signal: n.Signal) -> Compared | None:
    """The 99th percentile of a signal as the client of each window told it; None where one of them did not."""
    if evidence.windows is None or signal not in NAMES:
        return None
    before, after = (_figures(evidence.facts, NAMES[signal], side) for side in _sides(evidence.windows))
    if before is None or after is None:
        return None
    change = log(after["p99_s"] / before["p99_s"])
    error = sqrt(_log_error(before) ** 2 + _log_error(after) ** 2)
    reach = NormalDist().inv_cdf(LEVEL) * error
    return Compared(
        baseline=before["p99_s"],
        incident=after["p99_s"],
        change=Interval(exp(change), exp(change - reach), exp(change + reach)),
        p_above=1 - NormalDist().cdf(change / error) if error else float(change <= 0),
    )


def _sides(windows: Windows) -> tuple[tuple[int, int], tuple[int, int]]:
    """A run belongs to a window if it began in it, or before it and after the window that precedes."""
    base, incident = windows.baseline, windows.incident
    return (0, base.end), (base.end, incident.end)


def _figures(facts: tuple[Fact, ...], name: str, side: tuple[int, int]) -> Mapping[str, float] | None:
    """The last run that began within the side, if it tells enough."""
    found = {
        fact.name: fact.value
        for fact in facts
        if fact.name.startswith((f"{name}.", "client.completed")) and side[0] <= fact.unix_nano < side[1]
    }
    try:
        figures = {key: float(found[f"{name}.{key}"]) for key in ("median_s", "p99_s")}
        figures["completed"] = float(found["client.completed"])
    except (KeyError, ValueError):
        return None
    enough = figures["completed"] >= MIN_REQUESTS and 0 < figures["median_s"] <= figures["p99_s"]
    return figures if enough else None


def _log_error(figures: Mapping[str, float]) -> float:
    """Standard error of the logarithm of the 99th percentile."""
    normal = NormalDist()
    z = normal.inv_cdf(QUANTILE)
    sigma = log(figures["p99_s"] / figures["median_s"]) / z
    return sigma * sqrt(QUANTILE * (1 - QUANTILE) / figures["completed"]) / normal.pdf(z)
