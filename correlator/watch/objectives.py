"""Whether requests of the latest window keep an objective; too few of them show neither."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from correlator.join.places import places, services
from correlator.model import names as n
from correlator.model.evidence import INCIDENT, Evidence, Kind
from correlator.model.incidents import ENGINE
from correlator.watch.settings import Slo
from correlator.watch.sighting import Condition, Sighting

LEAST = 20
"""Requests (or 5 s buckets of a metric) without which a share says nothing: one of them is 5 %."""
LEAST_BUCKETS = 6


@dataclass(frozen=True, slots=True)
class Measured:
    """A value that must not exceed its limit, and both in words."""

    value: float
    limit: float
    said: str


def kept(slo: Slo, evidence: Evidence) -> Iterator[Sighting]:
    """One sighting a place the objective is about, `unknown` where too little was seen of it."""
    assert evidence.windows is not None
    for where in [slo.where] if slo.where is not None else places(evidence):
        found = _measured(slo, evidence, where)
        condition, severity, title = Condition.UNKNOWN, 0.0, f"{where}: {slo.name} cannot be judged"
        if found is not None:
            condition = Condition.WORSE if found.value > found.limit else Condition.WELL
            severity, title = found.value / found.limit, f"{where}: {slo.name}: {found.said}"
        yield Sighting(f"slo:{slo.name}", slo.kind, where, condition, evidence.windows, severity, title)


def _measured(slo: Slo, evidence: Evidence, where: str) -> Measured | None:
    requests, series = _latest(evidence.requests), _latest(evidence.series)
    if slo.kind is Kind.THROUGHPUT:
        return _throughput(series, slo.threshold)
    if where == ENGINE:
        return _by_metrics(slo, series)
    return _by_requests(slo, requests[services(requests) == where])


def _latest(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["period"] == INCIDENT] if "period" in frame else frame.iloc[:0]


def _by_requests(slo: Slo, requests: pd.DataFrame) -> Measured | None:
    bad = _bad(slo, requests)
    if bad is None or len(bad) < LEAST:
        return None
    return _share(slo, float(bad.mean()))


def _bad(slo: Slo, requests: pd.DataFrame) -> pd.Series | None:
    """Per request whether it breaks the objective."""
    if slo.kind is Kind.QUALITY:
        known = [requests[s.name] for s in (n.TRUNCATED, n.EMPTY_RETRIEVAL) if s.name in requests]
        return pd.concat(known, axis=1).max(axis=1).dropna() if known else None
    if n.ERROR.name not in requests:
        return None
    if slo.kind is Kind.LATENCY:
        answered = requests[requests[n.ERROR.name] == 0]
        return answered[n.LATENCY.name].dropna() > slo.threshold
    return requests[n.ERROR.name].dropna()


def _share(slo: Slo, share: float) -> Measured:
    if slo.kind is Kind.LATENCY:
        return Measured(share, slo.budget, f"{share:.1%} of requests took over {slo.threshold:g} s")
    if slo.kind is Kind.AVAILABILITY:
        return Measured(share, 1 - slo.threshold, f"{1 - share:.2%} of requests were answered")
    bad = "cut short or without documents" if slo.kind is Kind.QUALITY else "failed"
    return Measured(share, slo.threshold, f"{share:.1%} of requests {bad}")


def _by_metrics(slo: Slo, series: pd.DataFrame) -> Measured | None:
    """Without single requests only means are known: that of the latency stands in for the budget."""
    signal = n.LATENCY if slo.kind is Kind.LATENCY else n.ERROR
    mean = None if slo.kind is Kind.QUALITY else _mean(series, signal)
    if mean is None:
        return None
    if slo.kind is Kind.LATENCY:
        return Measured(mean, slo.threshold, f"requests took {mean:.3g} s in the mean")
    return _share(slo, mean)


def _mean(series: pd.DataFrame, signal: n.Signal) -> float | None:
    if signal.name not in series:
        return None
    weight = series.get(f"n.{signal.name}", pd.Series(1.0, series.index)).fillna(0.0)
    known = series[signal.name].notna() & (weight > 0)
    if known.sum() < LEAST_BUCKETS:
        return None
    return float((series[signal.name] * weight)[known].sum() / weight[known].sum())


def _throughput(series: pd.DataFrame, least: float) -> Measured | None:
    """Tokens per second while requests were there; a service nobody asks generates none by right."""
    if n.GENERATION_THROUGHPUT.name not in series:
        return None
    asked = pd.Series(False, series.index)
    for signal in (n.RUNNING, n.WAITING, n.ARRIVAL_RATE):
        if signal.name in series:
            asked |= series[signal.name].fillna(0) > 0
    rates = series.loc[asked, n.GENERATION_THROUGHPUT.name].dropna()
    if len(rates) < LEAST_BUCKETS:
        return None
    mean = float(rates.mean())
    return Measured(least / max(mean, 1e-9), 1.0, f"{mean:.3g} tokens per second were generated")
