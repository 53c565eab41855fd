"""Attempts of one logical model call: which spans were repeated, and the time they cost.

Two server spans under one client call, or sibling client calls of one name of which all but the last failed,
are tries of the same call. Everything from the first try's start to the last try's start is retry.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r


def mark_attempts(spans: pd.DataFrame) -> pd.DataFrame:
    """Add `retried` (a later try replaced this span), `in_retry` (it or an ancestor), `between` and `given_up` (s)."""
    tries = spans[spans["own_role"].isin([r.CLIENT, r.SERVER]) & (spans["parent"] >= 0)]
    tries = tries.sort_values(["parent", "own_role", "name", "start"])
    group = [tries["parent"], tries["own_role"], tries["name"]]
    last = ~tries.duplicated(["parent", "own_role", "name"], keep="last")
    under_client = spans["own_role"].to_numpy()[tries["parent"].to_numpy()] == r.CLIENT
    replaced = ~last & (((tries["own_role"] == r.SERVER) & under_client) | tries["failed"].astype(bool))
    retried = pd.Series(False, index=spans.index)
    retried.loc[tries.index[replaced]] = True
    return spans.assign(
        retried=retried,
        in_retry=_below(spans, retried),
        between=_between(spans, tries.assign(replaced=replaced), group),
        given_up=_given_up(tries, group)[replaced].reindex(spans.index),
    )


def _given_up(tries: pd.DataFrame, group: list[pd.Series]) -> pd.Series:
    """Seconds until a try was given up: a call's own time; of a serving span, which may go on unheard, until the
    next one began."""
    until_next = tries["start"].groupby(group).shift(-1) - tries["start"]
    return tries["duration"].where(tries["own_role"] == r.CLIENT, until_next) / 1e9


def _below(spans: pd.DataFrame, marked: pd.Series) -> pd.Series:
    values = marked.to_numpy().copy()
    depth, parent = spans["depth"].to_numpy(), spans["parent"].to_numpy()
    for level in range(1, int(depth.max(initial=0)) + 1 if len(depth) else 0):
        rows = np.flatnonzero(depth == level)
        values[rows] |= values[parent[rows]]
    return pd.Series(values, index=spans.index)


def _between(spans: pd.DataFrame, tries: pd.DataFrame, group: list[pd.Series]) -> pd.Series:
    """Seconds of a parent's own time that lie between the first and the last try below it (back-off)."""
    out = pd.Series(0.0, index=spans.index)
    if not tries["replaced"].any():
        return out
    by = tries.groupby(group)
    waited = (by["start"].max() - by["start"].min()) / 1e9
    tried = tries["duration"].where(tries["replaced"], 0).groupby(group).sum() / 1e9
    gap = (waited - tried)[by["replaced"].any()].clip(lower=0).groupby(level=0).sum()
    out.loc[gap.index] = np.minimum(gap, spans["own"].loc[gap.index])
    return out
