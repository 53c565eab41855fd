"""Columns as arrays, and summed up by group with a place for every group in each answer: nothing is left to join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Columns = dict[str, Any]
"""Arrays, or series where they hold texts, by name of column."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Rows of the groups 0 to `count` − 1; `codes` tells the group of each row.

    What is asked of a group is asked of those of its rows that `rows` marks and that have a value; NaN where none has.
    """

    codes: Ints
    count: int

    def size(self, rows: Bools) -> Ints:
        """How many rows."""
        return np.bincount(self.codes[rows], minlength=self.count)

    def any(self, rows: Bools) -> Bools:
        """Is there a row?"""
        found = np.zeros(self.count, dtype=bool)
        found[self.codes[rows]] = True
        return found

    def sum(self, values: Floats, rows: Bools) -> Floats:
        """The sum of the values."""
        known = rows & ~np.isnan(values)
        total = np.bincount(self.codes[known], values[known], self.count)
        return np.where(self.any(known), total, np.nan)

    def mean(self, values: Floats, rows: Bools) -> Floats:
        """The mean of the values."""
        return self.sum(values, rows) / np.maximum(self.size(rows & ~np.isnan(values)), 1)

    def max(self, values: Floats, rows: Bools) -> Floats:
        """The largest value."""
        found = np.full(self.count, np.nan)
        np.fmax.at(found, self.codes[rows], values[rows])
        return found

    def first(self, values: Floats, rows: Bools) -> Floats:
        """The value of the first row that has one."""
        at = np.flatnonzero(rows & ~np.isnan(values))[::-1]
        found = np.full(self.count, np.nan)
        found[self.codes[at]] = values[at]  # of several the one written last stays
        return found

    def last_row(self, rows: Bools) -> Ints:
        """The number of the last row, −1 where there is none."""
        at = np.flatnonzero(rows)
        found = np.full(self.count, -1)
        found[self.codes[at]] = at
        return found

    def last_text(self, texts: pd.Series, rows: Bools) -> pd.Series:
        """The text that is last in the alphabet; "" comes before all others."""
        codes, known = pd.factorize(texts[rows], sort=True)
        found = np.full(self.count, -1)
        np.maximum.at(found, self.codes[rows], codes)
        return pd.Series(known.array.take(found, allow_fill=True))


def positive(values: Floats) -> Floats:
    """A divisor: unknown where it is not above zero."""
    return np.where(values > 0, values, np.nan)


def numbers(texts: pd.Series) -> Floats:
    """What the texts mean as numbers; unknown where one is none."""
    told, out = (texts != "").to_numpy(dtype=bool), np.full(len(texts), np.nan)
    out[told] = pd.to_numeric(texts[told], errors="coerce")
    return out


def asked_once(texts: pd.Series, ask: Callable[[str], bool]) -> Bools:
    """What `ask` says of each text; of equal ones it is asked once."""
    codes, known = pd.factorize(texts)
    return np.asarray(np.array([ask(text) for text in known], dtype=bool)[codes])
