"""Calls that leave a service beside those of the model: which part of the ledger their time belongs to."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.arrays import Bools, Ints
from correlator.join.tree import inherited

MODEL_PATH = r"/(?:chat/)?completions|/v1/(?:messages|responses|embeddings)|/generate|/api/chat|:generateContent"
"""A plain HTTP call to one of these is the model's, though nothing else says so: it is no other dependency."""
POOL_WAIT, STORE_WAIT, RETRIEVAL, DEPENDENCY, OTHER = (
    r.ROLES.index(role) for role in (r.POOL_WAIT, r.STORE_WAIT, r.RETRIEVAL, r.DEPENDENCY, r.OTHER)
)


def assigned(spans: pd.DataFrame) -> pd.Series:
    """Each span's role, its own or its parent's; calls of others and waits for a store's connection told apart."""
    own = r.numbered(spans["own_role"])
    role = inherited(spans, own, OTHER)
    outgoing = _outgoing(spans, own, role)
    if len(outgoing):
        own[outgoing] = DEPENDENCY
        role = inherited(spans, own, OTHER)
    waits = np.flatnonzero(own == POOL_WAIT)
    role[waits[_of_a_store(spans, role, waits)]] = STORE_WAIT
    return r.named(role, spans.index)


def _outgoing(spans: pd.DataFrame, own: Ints, role: Ints) -> Ints:
    """Rows of calls of others, none of which lead to a span with a role of its own."""
    leaves = spans["kind"].isin(["Client", "Producer"]).to_numpy(dtype=bool)
    rows = np.flatnonzero((role == OTHER) & leaves & ~_towards_a_role(spans, own))
    if "url" not in spans:
        return rows
    return np.asarray(rows[~spans["url"].iloc[rows].str.contains(MODEL_PATH, regex=True).to_numpy(dtype=bool)])


def _towards_a_role(spans: pd.DataFrame, own: Ints) -> Bools:
    """Spans below which some span has a role of its own."""
    depth, parent = spans["depth"].to_numpy(), spans["parent"].to_numpy()
    told, above = own != OTHER, np.zeros(len(spans), dtype=bool)
    for level in range(int(depth.max(initial=0)), 0, -1):
        rows = np.flatnonzero((depth == level) & (told | above))
        above[parent[rows]] = True
    return above


def _of_a_store(spans: pd.DataFrame, role: Ints, waits: Ints) -> Bools:
    """Which of the waits name a database, or lie within retrieval."""
    parent = spans["parent"].to_numpy()[waits]
    within = (parent >= 0) & (role[parent] == RETRIEVAL)
    return np.asarray(within | (spans["db"].iloc[waits] != ""), dtype=bool)
