"""Ties between points and requests: the state of the system during each request's own interval.

Scrapes and samples carry no trace id, so the tie is resource and overlapping time. A signal sampled more
rarely than a block (10 s) cannot say what one request met: it is not tied, and coverage says why.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from correlator.join.failures import of_failures
from correlator.join.series import BUCKET_NS
from correlator.model import names as n
from correlator.model.evidence import BLOCK_NS, Event


def tie(requests: pd.DataFrame, series: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Requests with state columns added, and the signals that were sampled too rarely to be tied."""
    if requests.empty or series.empty:
        return requests, ()
    columns: dict[str, np.ndarray] = {}
    sparse = []
    for signal in n.STATE:
        if signal.name not in series or signal.name in requests:
            continue
        if interval(series, signal.name) > BLOCK_NS / 1e9 + 1:
            sparse.append(signal.name)
            continue
        columns[signal.name] = _mean_during(series, signal.name, requests)
    return requests.assign(**columns), tuple(sparse)


def with_events(requests: pd.DataFrame, events: Iterable[Event]) -> pd.DataFrame:
    """What happened to a request by trace id, and how long the engine had been up when it began."""
    if requests.empty:
        return requests
    overflown = {e.trace_id for e in events if e.name == n.Events.CONTEXT_OVERFLOW and e.trace_id}
    failed = requests.loc[requests[n.ERROR.name] > 0, "trace_id"]
    kind = pd.Series(n.CONTEXT_ERROR.name, failed.index).where(failed.isin(overflown))
    requests = of_failures(requests, kind, [n.CONTEXT_ERROR.name])
    requests = _with_refused_tokens(requests, events)
    starts = np.sort([e.unix_nano for e in events if e.name in (n.Events.ENGINE_START, n.Events.ENGINE_READY)])
    if not len(starts):
        return requests
    last = np.searchsorted(starts, requests["start"].to_numpy(dtype=np.int64), side="right") - 1
    since = requests["start"].to_numpy(dtype=np.int64) - starts[np.maximum(last, 0)]
    return requests.assign(**{n.EARLY.name: np.where(last >= 0, -since / 1e9, np.nan)})


def _with_refused_tokens(requests: pd.DataFrame, events: Iterable[Event]) -> pd.DataFrame:
    """What refused requests asked for and what the model allows, as the refusals say it.

    A refusal that counts the prompt alone says what was asked for only with the request's own limit on the answer.
    """
    refusals = {e.trace_id: e.attributes for e in events if e.name == n.Events.CONTEXT_OVERFLOW and e.attributes}
    if not refusals:
        return requests
    said = pd.DataFrame([refusals.get(t, {}) for t in requests["trace_id"]], requests.index, dtype=object)
    asked, prompt, limit = (
        pd.to_numeric(said[name], errors="coerce") if name in said else pd.Series(np.nan, requests.index)
        for name in (n.REQUESTED_TOKENS.name, n.INPUT_TOKENS.name, n.CONTEXT_LIMIT.name)
    )
    room = requests.get(n.MAX_TOKENS.name, np.nan)
    asked = asked.fillna(prompt + room).fillna(prompt.where(prompt > limit))
    columns = {n.REQUESTED_TOKENS.name: asked, n.CONTEXT_LIMIT.name: limit}
    return requests.assign(**{name: column for name, column in columns.items() if column.notna().any()})


def interval(series: pd.DataFrame, column: str) -> float:
    """Median seconds between rows that carry the signal."""
    times = series.loc[series[column].notna(), "start"].to_numpy(dtype=np.int64)
    return float(np.median(np.diff(times)) / 1e9) if len(times) > 1 else float("inf")


def _mean_during(series: pd.DataFrame, column: str, requests: pd.DataFrame) -> np.ndarray:
    present = series[series[column].notna()]
    at = present["start"].to_numpy(dtype=np.int64) // BUCKET_NS
    total = np.concatenate([[0.0], np.cumsum(present[column].to_numpy(dtype=float))])
    first = requests["start"].to_numpy(dtype=np.int64) // BUCKET_NS
    low = np.searchsorted(at, first - 1, side="left")
    high = np.searchsorted(at, requests["end"].to_numpy(dtype=np.int64) // BUCKET_NS, side="right")
    inside = np.searchsorted(at, first, side="left")
    low = np.where(high > inside, inside, low)
    count = high - low
    return np.where(count > 0, (total[high] - total[low]) / np.maximum(count, 1), np.nan)
