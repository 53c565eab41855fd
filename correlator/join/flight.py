"""What else was under way when a request began and when its call was sent, and how long its client had been silent."""

from __future__ import annotations

import numpy as np

from correlator.join.arrays import Bools, Columns, Floats, Ints
from correlator.join.traced import Traced
from correlator.model import names as n


def flight(requests: Traced, share: float) -> Columns:
    """Requests and calls open at the time, scaled up where traces were sampled (`share` below 1); then silence is
    unknown, since who called may be missing."""
    start, end = requests.ints("start"), requests.ints("start") + requests.ints("duration")
    came, sent = start[requests.roots], requests.by.last_row(requests.calls)
    nothing = np.full(len(came), np.nan)

    def at_call(spans: Bools) -> Floats:
        there = _open(start[spans], end[spans], start[sent]) / share
        return np.where(sent >= 0, there, np.nan) if spans.any() else nothing

    return {
        n.IN_FLIGHT.name: _open(came, end[requests.roots], came) / share,
        n.IDLE_BEFORE.name: _idle_before(requests, start, end) if share == 1 else nothing,
        n.CALLS_IN_FLIGHT.name: at_call(requests.calls),
        n.SERVER_IN_FLIGHT.name: at_call(requests.serves),
    }


def _open(starts: Ints, ends: Ints, at: Ints) -> Floats:
    begun = np.searchsorted(np.sort(starts), at, side="left")
    ended = np.searchsorted(np.sort(ends), at, side="right")
    return np.asarray(np.maximum(begun - ended, 0), dtype=float)


def _idle_before(requests: Traced, start: Ints, end: Ints) -> Floats:
    """Seconds in which the client instance had no call open before the first one of a request; 0 while it had."""
    calls, idle = np.flatnonzero(requests.calls), np.full(len(start), np.nan)
    for its in requests.spans.iloc[calls].groupby(["service", "instance"], sort=False).indices.values():
        rows = calls[its]
        silent = start[rows[1:]].astype(float) - np.maximum.accumulate(end[rows])[:-1]
        idle[rows[1:]] = np.maximum(silent / 1e9, 0)
    return requests.by.first(idle, requests.calls)
