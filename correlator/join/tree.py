"""Spans of a trace as a tree, and each span's own time on the critical path.

Walking back from a parent's end, the child that ends last is the one waited for; what it overlaps of earlier
children was hidden behind it. So every instant of a trace belongs to exactly one span and the parts add up to
the root's duration. Everything is done level by level on whole columns.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join.arrays import Bools, Ints
from correlator.join.roles import CLIENT, SERVER

MAX_DEPTH = 64
"""Deeper spans (or cycles of parents) keep no own time; their time stays with the ancestor."""


def with_tree(spans: pd.DataFrame) -> pd.DataFrame:
    """Add `trace` (a number), `parent` (row number or −1), `root` (row number of the trace's root), `depth`, `orphan`.

    Needs `own_role`. A serving span that hangs beside the client call it answers (the client passed on its
    caller's context instead of its own) is put under that call.
    """
    spans = spans.reset_index(drop=True)
    spans["trace"], _ = pd.factorize(spans["trace_id"])
    names, known = pd.factorize(pd.concat([spans["span_id"], spans["parent_id"]]))
    keys = spans["trace"].to_numpy() * np.int64(len(known)) + names.reshape(2, -1)
    parent = pd.Index(keys[0]).get_indexer(keys[1]).astype(np.int64)
    parent[parent == np.arange(len(spans))] = -1
    child = (spans["parent_id"] != "").to_numpy(dtype=bool)
    spans["orphan"] = (parent < 0) & child
    spans["parent"] = _adopted(spans, parent, child)
    spans["depth"] = _depths(spans["parent"].to_numpy())
    spans["root"] = _roots(spans)
    return spans


def _adopted(spans: pd.DataFrame, parent: Ints, child: Bools) -> Ints:
    """The latest client call under way when the serving span began becomes its parent, unless it made that call."""
    client = (spans["own_role"] == CLIENT).to_numpy(dtype=bool)
    loose = (spans["own_role"] == SERVER).to_numpy(dtype=bool) & child & ~((parent >= 0) & client[parent])
    if not loose.any():
        return parent
    span = spans[["trace", "start", "duration"]].assign(row=np.arange(len(spans)))
    pairs = span[loose].merge(span[client], on="trace", suffixes=("", "_call"))
    inside = (pairs["start"] >= pairs["start_call"]) & (pairs["start"] < pairs["start_call"] + pairs["duration_call"])
    chosen = pairs[inside].sort_values("start_call").drop_duplicates("row", keep="last")
    out = parent.copy()
    out[chosen["row"].to_numpy()] = chosen["row_call"].to_numpy()
    return np.where(loose & (_depths(out) < 0), parent, out)


def _depths(parent: Ints) -> Ints:
    depth = np.where(parent < 0, 0, -1)
    for level in range(1, MAX_DEPTH):
        found = (depth < 0) & (parent >= 0) & (depth[parent] == level - 1)
        if not found.any():
            break
        depth[found] = level
    return depth


def _roots(spans: pd.DataFrame) -> Ints:
    """Of several parentless spans in a trace, the true root (no parent id) wins, then the longest, then the first."""
    trace, orphan = spans["trace"].to_numpy(), spans["orphan"].to_numpy()
    start, duration = spans["start"].to_numpy(), spans["duration"].to_numpy()
    tops = np.flatnonzero(spans["depth"].to_numpy() == 0)
    best_last = tops[np.lexsort((start[tops], -duration[tops], orphan[tops]))][::-1]
    root = np.full(int(trace.max(initial=-1)) + 1, -1)
    root[trace[best_last]] = best_last
    return np.asarray(root[trace])


def critical_path(spans: pd.DataFrame) -> pd.DataFrame:
    """Add `own`: the seconds of the critical path spent in the span itself, not in a child."""
    start = spans["start"].to_numpy(dtype=np.int64)
    start = start - (start.min() if len(start) else 0)
    end = start + spans["duration"].to_numpy(dtype=np.int64)
    low, high = start.copy(), end.copy()
    active = (spans["depth"].to_numpy() == 0) & (spans["root"].to_numpy() == np.arange(len(spans)))
    high[~active] = low[~active]
    covered = np.zeros(len(spans))
    for level in range(1, int(spans["depth"].max()) + 1 if len(spans) else 0):
        rows = np.flatnonzero(spans["depth"].to_numpy() == level)
        parents = spans["parent"].to_numpy()[rows]
        _clip_children(rows, parents, start, end, low, high)
        np.add.at(covered, parents, (high[rows] - low[rows]).astype(float))
    return spans.assign(own=np.maximum((high - low) - covered, 0.0) / 1e9)


def _clip_children(
    rows: np.ndarray,
    parents: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Set each child's effective interval inside its parent's, later-ending siblings first."""
    child_low = np.maximum(start[rows], low[parents])
    child_high = np.minimum(end[rows], high[parents])
    order = np.lexsort((-child_low, -child_high, parents))
    table = pd.DataFrame({"parent": parents[order], "low": child_low[order]})
    taken = table.groupby("parent")["low"].cummin().groupby(table["parent"]).shift(1)
    limit = taken.fillna(float(2**62)).to_numpy().astype(np.int64)
    cut = np.minimum(child_high[order], limit)
    low[rows[order]] = child_low[order]
    high[rows[order]] = np.maximum(cut, child_low[order])


def inherited(spans: pd.DataFrame, role: Ints, none: int) -> Ints:
    """Numbers of roles filled down the tree: a span that has `none` of its own has its parent's."""
    values = role.copy()
    depth, parent = spans["depth"].to_numpy(), spans["parent"].to_numpy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero((depth == level) & (values == none))
        values[rows] = values[parent[rows]]
    return values
