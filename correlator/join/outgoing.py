"""Calls that leave a service beside those of the model: which part of the ledger their time belongs to, and how long
the service had been silent before it called."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.tree import inherited

MODEL_PATH = r"/(?:chat/)?completions|/v1/(?:messages|responses|embeddings)|/generate|/api/chat|:generateContent"
"""A plain HTTP call to one of these is the model's, though nothing else says so: it is no other dependency."""


def assigned(spans: pd.DataFrame) -> pd.Series:
    """Each span's role, its own or its parent's; calls of others and waits for a store's connection told apart."""
    own = spans["own_role"]
    role = inherited(spans, own)
    outgoing = (role == r.OTHER) & spans["kind"].isin(["Client", "Producer"]) & ~_towards_a_role(spans, own)
    if "url" in spans:
        outgoing &= ~spans["url"].str.contains(MODEL_PATH, regex=True)
    role = inherited(spans, own.mask(outgoing, r.DEPENDENCY)) if outgoing.any() else role
    return role.mask((own == r.POOL_WAIT) & _of_a_store(spans, role), r.STORE_WAIT)


def _towards_a_role(spans: pd.DataFrame, own: pd.Series) -> np.ndarray:
    """Spans below which some span has a role of its own."""
    depth, parent = spans["depth"].to_numpy(), spans["parent"].to_numpy()
    told, above = (own != r.OTHER).to_numpy(), np.zeros(len(spans), dtype=bool)
    for level in range(int(depth.max(initial=0)), 0, -1):
        rows = np.flatnonzero((depth == level) & (told | above))
        above[parent[rows]] = True
    return above


def _of_a_store(spans: pd.DataFrame, role: pd.Series) -> np.ndarray:
    """Spans that name a database, or lie within retrieval."""
    parent = spans["parent"].to_numpy()
    within = np.where(parent >= 0, role.to_numpy(dtype=object)[parent], "") == r.RETRIEVAL
    return np.asarray(within | (spans["db"] != "").to_numpy())


def idle_before(calls: pd.DataFrame) -> pd.Series:
    """Seconds by trace in which its client instance had no call open before this trace's first one; 0 while it had."""
    calls = calls.sort_values("start")
    client = [calls["service"], calls["instance"]]
    ended = (calls["start"] + calls["duration"]).groupby(client).cummax().groupby(client).shift()
    idle = ((calls["start"] - ended) / 1e9).clip(lower=0)
    return idle.groupby(calls["trace_id"]).first()
