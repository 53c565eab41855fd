"""Which spans belong to requests, and to which of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.arrays import Bools, Floats, Grouped, Ints


@dataclass(frozen=True, eq=False)
class Traced:
    """Spans of requests, in order of time; `roots` are the rows of each request's root, `by` the request of each span.

    `parent` in `spans` is a row of them.
    """

    spans: pd.DataFrame
    roots: Ints
    by: Grouped

    def floats(self, column: str) -> Floats:
        """A column of numbers, times among them, of every span."""
        return np.asarray(self.spans[column], dtype=float)

    def ints(self, column: str) -> Ints:
        """A column of whole numbers, times to the nanosecond among them, of every span."""
        return np.asarray(self.spans[column], dtype=np.int64)

    def marks(self, column: str) -> Bools:
        """A column of truths of every span."""
        return np.asarray(self.spans[column], dtype=bool)

    def being(self, column: str, value: str) -> Bools:
        """Spans with this text in the column."""
        return np.asarray(self.spans[column] == value, dtype=bool)

    @cached_property
    def calls(self) -> Bools:
        """The client's side of model calls."""
        return self.being("own_role", r.CLIENT)

    @cached_property
    def serves(self) -> Bools:
        """The engine's side of model calls."""
        return self.being("own_role", r.SERVER)

    @cached_property
    def failed(self) -> Bools:
        """Spans that failed."""
        return self.marks("failed")

    @cached_property
    def everything(self) -> Bools:
        """All spans."""
        return np.ones(len(self.spans), dtype=bool)


def traced(table: pd.DataFrame) -> Traced:
    """The spans of traces that are requests: served by somebody, or calling a model. `table`: prepared spans."""
    trace = table["trace"].to_numpy()
    root_of = np.full(trace.max() + 1, -1)
    root_of[trace] = table["root"].to_numpy()
    requests, number = _requests(table, root_of), np.full(len(root_of), -1)
    number[requests] = np.arange(len(requests))
    codes, roots = number[trace], root_of[requests]
    kept = codes >= 0
    if not kept.all():
        row = np.append(np.cumsum(kept) - 1, -1)  # the last for spans without a parent, whose place is −1
        table = table[kept].assign(parent=row[table["parent"].to_numpy()[kept]])
        codes, roots = codes[kept], row[roots]
    return Traced(table, roots, Grouped(codes, len(roots)))


def _requests(table: pd.DataFrame, root_of: Ints) -> Ints:
    """Numbers of the traces that are requests, in order of their start."""
    rooted = np.flatnonzero(root_of >= 0)
    speaks = table["own_role"].isin([r.SERVER, r.CLIENT]).to_numpy(dtype=bool)
    entry = table["kind"].isin(["Server", "Consumer"]).to_numpy(dtype=bool)[root_of[rooted]]
    requests = rooted[entry | Grouped(table["trace"].to_numpy(), len(root_of)).any(speaks)[rooted]]
    start = table["start"].to_numpy()[root_of[requests]]
    return np.asarray(requests[np.argsort(start, kind="stable")])
