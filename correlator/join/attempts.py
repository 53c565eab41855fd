"""Attempts of one logical model call: which spans were repeated, and the time they cost.

Two server spans under one client call, or sibling client calls of one name of which all but the last failed,
are tries of the same call. Everything from the first try's start to the last try's start is retry.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.arrays import Bools, Floats, Grouped, Ints


def mark_attempts(spans: pd.DataFrame) -> pd.DataFrame:
    """Add `retried` (a later try replaced this span), `in_retry` (it or an ancestor), `between` and `given_up` (s)."""
    client, parent = (spans["own_role"] == r.CLIENT).to_numpy(), spans["parent"].to_numpy()
    tries, begins = _tries(spans, client)
    under_client = ~client[tries] & client[parent[tries]]
    again = ~np.append(begins, True)[1:]
    replaced = again & (under_client | spans["failed"].to_numpy(dtype=bool)[tries])
    retried = np.zeros(len(spans), dtype=bool)
    retried[tries[replaced]] = True
    return spans.assign(
        retried=retried,
        in_retry=_below(spans, retried),
        between=_between(spans, tries, begins, replaced),
        given_up=_given_up(spans, tries[replaced], tries[np.flatnonzero(replaced) + 1], client),
    )


def _tries(spans: pd.DataFrame, client: Bools) -> tuple[Ints, Bools]:
    """Rows of model calls and serving spans, those of one parent, role and name in a run and in order of time; and
    where a run begins."""
    parent = spans["parent"].to_numpy()
    rows = np.flatnonzero((client | (spans["own_role"] == r.SERVER).to_numpy()) & (parent >= 0))
    keys = [pd.factorize(spans["name"].iloc[rows])[0], client[rows], parent[rows]]
    order = np.lexsort((spans["start"].to_numpy()[rows], *keys))
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    return rows[order], begins


def _given_up(spans: pd.DataFrame, tries: Ints, following: Ints, client: Bools) -> Floats:
    """Seconds until a try was given up: a call's own time; of a serving span, which may go on unheard, until the
    one that followed began."""
    start, out = spans["start"].to_numpy(dtype=float), np.full(len(spans), np.nan)
    until_next = start[following] - start[tries]
    out[tries] = np.where(client[tries], spans["duration"].to_numpy()[tries], until_next) / 1e9
    return out


def _below(spans: pd.DataFrame, marked: Bools) -> Bools:
    """The marked spans and all that hang below them."""
    values = marked.copy()
    depth, parent = spans["depth"].to_numpy(), spans["parent"].to_numpy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        values[rows] |= values[parent[rows]]
    return values


def _between(spans: pd.DataFrame, tries: Ints, begins: Bools, replaced: Bools) -> Floats:
    """Seconds of a parent's own time that lie between the first and the last try below it (back-off)."""
    if not replaced.any():
        return np.zeros(len(spans))
    start, duration = spans["start"].to_numpy()[tries], spans["duration"].to_numpy(dtype=float)[tries]
    calls = Grouped(np.cumsum(begins) - 1, int(begins.sum()))
    waited = (start[np.append(begins, True)[1:]] - start[begins]) / 1e9
    gap = np.maximum(waited - calls.sum(duration, replaced) / 1e9, 0)
    parents = Grouped(spans["parent"].to_numpy()[tries[begins]], len(spans))
    return np.asarray(np.minimum(np.nan_to_num(parents.sum(gap, calls.any(replaced))), spans["own"].to_numpy()))
