"""What a report draws: the symptom over time and example traces as waterfalls."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from correlator.join import roles as r
from correlator.model import names as n
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Bar, Illustration, Waterfall

CELLS = 300
EXAMPLES = 3
SPANS = 60
COLUMNS = ("trace_id", "name", "service", "role", "depth", "start", "duration", "failed")
PARTS = {
    r.SERVER: "decode",
    r.CLIENT: "network",
    r.RETRIEVAL: "retrieval",
    r.RERANK: "rerank",
    r.POOL_WAIT: "pool_wait",
    r.STORE_WAIT: "store_wait",
    r.DEPENDENCY: "dependency",
}


def illustrate(evidence: Evidence, spans: pd.DataFrame, trace_ids: Sequence[str]) -> Illustration:
    """A timeline of at most 300 points; one typical trace of the baseline and up to three of the incident."""
    signal = evidence.symptom.signal if evidence.symptom else n.LATENCY
    return Illustration(
        timeline=_timeline(evidence, signal),
        unit=signal.unit,
        waterfalls=tuple(_waterfalls(evidence, spans, trace_ids)),
    )


def _timeline(evidence: Evidence, signal: n.Signal) -> tuple[tuple[int, float], ...]:
    frame = evidence.requests if signal.name in evidence.requests else evidence.series
    if signal.name not in frame:
        return ()
    rows = frame[frame[signal.name].notna()].sort_values("start")
    if rows.empty:
        return ()
    extent = int(rows["start"].iloc[-1] - rows["start"].iloc[0])
    width = max(5_000_000_000, extent // CELLS)
    cell = rows["start"] // width
    means = rows[signal.name].astype(float).groupby(cell).mean()
    return tuple((int(at) * width + width // 2, float(value)) for at, value in means.items())


def _waterfalls(evidence: Evidence, spans: pd.DataFrame, trace_ids: Sequence[str]) -> list[Waterfall]:
    requests = evidence.numbers[0]
    if requests.empty or "period" not in requests:
        return []
    chosen = [(BASELINE, t) for t in _typical(requests[requests["period"] == BASELINE])]
    incident = requests[requests["period"] == INCIDENT]
    hit = set(incident["trace_id"])
    known = [t for t in dict.fromkeys(trace_ids) if t in hit]
    chosen += [(INCIDENT, t) for t in (known or _typical(incident))[:EXAMPLES]]
    drawn = spans.loc[spans["trace_id"].isin([t for _, t in chosen]), [*COLUMNS]]
    return [_waterfall(drawn[drawn["trace_id"] == trace_id], trace_id, period) for period, trace_id in chosen]


def _typical(rows: pd.DataFrame) -> list[str]:
    """The trace whose latency is closest to the median."""
    if rows.empty:
        return []
    distance = (rows[n.LATENCY.name] - rows[n.LATENCY.name].median()).abs()
    return [str(rows.loc[distance.idxmin(), "trace_id"])]


def _waterfall(spans: pd.DataFrame, trace_id: str, period: str) -> Waterfall:
    spans = spans.sort_values(["start", "depth"]).head(SPANS)
    began = int(spans["start"].min())
    bars = tuple(
        Bar(
            name=row.name_,
            service=row.service,
            part=PARTS.get(row.role, "gateway"),
            depth=max(0, int(row.depth)),
            start_s=(row.start - began) / 1e9,
            duration_s=row.duration / 1e9,
            error=bool(row.failed),
        )
        for row in spans.rename(columns={"name": "name_"}).itertuples()
    )
    longest = max((bar.duration_s for bar in bars), default=0.0)
    return Waterfall(trace_id, period, f"{bars[0].name if bars else trace_id}, {longest:.3g} s", bars)
