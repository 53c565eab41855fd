"""Who is hit: attribute values that carry most of the symptom although they are only part of the traffic."""

from __future__ import annotations

import pandas as pd

from correlator.model.effects import ratio
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.names import LATENCY
from hypotheses._relations import SPARED

MOST = 0.8
PART = 0.6
MIN_REQUESTS = 10


def scope_of(evidence: Evidence) -> dict[str, str]:
    """Attribute → value for each attribute that confines the symptom; empty when everybody is hit alike."""
    if evidence.symptom is None or evidence.symptom.signal is not LATENCY or LATENCY.name not in evidence.requests:
        return {}
    rows = evidence.requests
    found = {}
    for column in (c for c in rows.columns if c.startswith("attribute.")):
        value = _confining(rows, column)
        if value is not None:
            found[column.removeprefix("attribute.")] = value
    return found


def _confining(rows: pd.DataFrame, column: str) -> str | None:
    known = rows[rows[column].notna() & (rows["period"] != "")]
    base = known[known["period"] == BASELINE].groupby(column)[LATENCY.name].mean()
    incident = known[known["period"] == INCIDENT]
    incident = incident[incident[column].isin(base.index)]
    if incident.empty or len(base) < 2:
        return None
    excess = (incident[LATENCY.name] - incident[column].map(base)).groupby(incident[column]).sum()
    if excess.sum() <= 0:
        return None
    top = excess.idxmax()
    hit = incident[column] == top
    if excess[top] < MOST * excess.sum() or hit.mean() > PART or hit.sum() < MIN_REQUESTS:
        return None
    others = ratio(known[known[column] != top], LATENCY.name)
    return str(top) if others is not None and others.interval.value < SPARED else None
