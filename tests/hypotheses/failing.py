"""What worlds of failing or ill-answered requests are made of: error texts read as the product reads them, and columns
that only some services measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.join.failures import with_failures
from correlator.model.evidence import INCIDENT, Evidence, Kind
from correlator.model.names import ERROR, Signal
from tests.hypotheses.evidence import seen

Made = Callable[[pd.DataFrame, np.random.Generator], "np.ndarray | pd.Series"]


def telling(evidence: Evidence, text: str, share: float = 1.0, otherwise: str = "internal error") -> Evidence:
    """The evidence with error texts: this share of the incident's failures says `text`, other failures say another."""
    rows, rng = evidence.requests, np.random.default_rng(5)
    says = (rows["period"] == INCIDENT) & (rng.random(len(rows)) < share)
    texts = np.where(rows[ERROR.name] > 0, np.where(says, text, otherwise), "")
    return replace(evidence, requests=with_failures(rows.assign(error_text=texts), evidence.events))


def measured(evidence: Evidence, columns: dict[Signal, Made], kind: Kind | None = None) -> Evidence:
    """The evidence with more columns of requests, each made from the rows and a generator; the symptom found anew."""
    rows = evidence.requests
    for number, (signal, made) in enumerate(columns.items()):
        rows = rows.assign(**{signal.name: np.asarray(made(rows, np.random.default_rng(number)), dtype=float)})
    return seen(replace(evidence, requests=rows), kind)


def in_series(evidence: Evidence, columns: dict[Signal, Made]) -> Evidence:
    """The evidence with more columns of its series."""
    rows = evidence.series
    for number, (signal, made) in enumerate(columns.items()):
        rows = rows.assign(**{signal.name: np.asarray(made(rows, np.random.default_rng(number)), dtype=float)})
    return replace(evidence, series=rows)


def around(before: float, during: float, spread: float = 0.2) -> Made:
    """Log-normal values with one mean before the incident and another in it."""

    def made(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
        mean = np.where(rows["period"] == INCIDENT, during, before)
        return np.asarray(mean * rng.lognormal(-(spread**2) / 2, spread, len(rows)))

    return made


def now_and_then(before: float, during: float) -> Made:
    """1 for a share of the rows, 0 for the others."""

    def made(rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(len(rows)) < np.where(rows["period"] == INCIDENT, during, before)).astype(float)

    return made
