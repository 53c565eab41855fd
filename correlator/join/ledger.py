"""Where the time went: mean seconds by part, before and during, and each part's share of the change."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import LedgerLine
from correlator.model.names import LATENCY, LEDGER, Signal, part_name


def to_ledger(evidence: Evidence) -> tuple[LedgerLine, ...]:
    """Parts measured in both windows; empty when the latency could not be split at all."""
    for frame, compared in zip((evidence.requests, evidence.series), evidence.compared, strict=True):
        parts = [p for p in LEDGER if p.name in compared]
        if LATENCY.name in compared and len(parts) > 1:
            return tuple(_lines(frame, parts))
    return ()


def _lines(frame: pd.DataFrame, parts: list[Signal]) -> list[LedgerLine]:
    means = {p: (_mean(frame, p, BASELINE), _mean(frame, p, INCIDENT)) for p in parts}
    total = sum(after - before for before, after in means.values())
    return [
        LedgerLine(part_name(p), before, after, (after - before) / total if total else None)
        for p, (before, after) in means.items()
    ]


def _mean(frame: pd.DataFrame, part: Signal, period: str) -> float:
    value, weight = frame[part.name].to_numpy(dtype=float), f"n.{part.name}"
    mass = np.nan_to_num(frame[weight].to_numpy(dtype=float)) if weight in frame else np.ones(len(value))
    known = (frame["period"] == period).to_numpy() & ~np.isnan(value)
    total = mass[known].sum()
    return float((value[known] * mass[known]).sum() / total) if total else 0.0
