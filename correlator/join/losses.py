"""Telemetry that got lost: which traces are torn for good, and what share the Collector's log says it dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from correlator.join.series import BUCKET_NS
from correlator.model import names as n
from correlator.model.evidence import Event, Window
from correlator.model.names import Events

LONGEST = 0.99
"""The share of whole traces that are over within the time that the rest of a torn one is waited for."""


def whole_by_now(requests: pd.DataFrame) -> pd.DataFrame:
    """Requests of which it is unknown whether they are torn, where the last spans were to come after what was read.

    A span is sent when it ends: children come before their parent, of the latest traces nobody can tell.
    """
    lost = n.TELEMETRY_LOST.name
    if lost not in requests or not (requests[lost] > 0).any():
        return requests
    seconds = requests["end"] - requests["start"]
    whole = seconds[requests[lost] == 0]
    longest = float((whole if len(whole) else seconds).quantile(LONGEST))
    return requests.assign(**{lost: requests[lost].mask(requests["end"] > requests["end"].max() - longest)})


def with_log_losses(
    series: pd.DataFrame, events: Iterable[Event], spans: pd.DataFrame, share: float, extents: Mapping[str, Window]
) -> pd.DataFrame:
    """The series with the share of spans that the Collector's log says were dropped, weighed by all spans of the time.

    Only where nobody counted what the Collector took (its metrics do): then what arrived here is what it passed on.
    """
    log = extents.get("collector_log")
    if log is None or n.TELEMETRY_REFUSED.name in series or not len(spans):
        return series
    dropped = pd.Series(_dropped(events), dtype=float)
    if dropped.empty:
        return series
    at = series["start"] // BUCKET_NS
    arrived = at.map(spans.groupby(spans["start"] // BUCKET_NS).size()).fillna(0) / share
    lost = at.map(dropped).fillna(0.0)
    total = (arrived + lost).where((series["start"] + BUCKET_NS > log.start) & (series["start"] < log.end))
    total = total.where(total > 0)
    return series.assign(**{n.TELEMETRY_REFUSED.name: lost / total, f"n.{n.TELEMETRY_REFUSED.name}": total})


def _dropped(events: Iterable[Event]) -> dict[int, float]:
    """Spans that log lines say were dropped, by bucket."""
    found: dict[int, float] = {}
    for event in events:
        count = event.attributes.get("dropped_items", event.attributes.get("rejected_items", ""))
        traces = event.attributes.get("otelcol.signal", "") == "traces"
        if event.name == Events.TELEMETRY_DROPPED and traces and count.isdigit():
            found[event.unix_nano // BUCKET_NS] = found.get(event.unix_nano // BUCKET_NS, 0.0) + float(count)
    return found
