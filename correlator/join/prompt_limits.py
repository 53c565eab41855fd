"""Which prompts were cut to a limit: many have the very same number of tokens, and none of that time has more."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.model import names as n

MANY = 5
"""Requests at one length that are no coincidence: of prompts whose lengths vary, the longest is seldom met twice."""
NEAR_TOKENS, NEAR = 3, 0.02
"""How far below the limit others are looked for: beyond a limit they pile up, while a tail thins out."""


def with_prompt_limits(requests: pd.DataFrame) -> pd.DataFrame:
    """Requests with 1 where the prompt has as many tokens as a limit lets through; 0 where a longer one would pass.

    Prompts that are all of one length are at it as well: that they are cut is for others to tell.
    """
    if n.INPUT_TOKENS.name not in requests:
        return requests
    tokens = requests[n.INPUT_TOKENS.name].to_numpy(dtype=float)
    order = np.argsort(requests["start"].to_numpy(), kind="stable")
    order = order[tokens[order] > 0]
    values, mark = tokens[order], np.full(len(tokens), np.nan)
    mark[order] = 0.0
    lengths, counts = np.unique(values, return_counts=True)
    for length in lengths[counts >= MANY]:
        mark[order[_cut_to(values, float(length))]] = 1.0
    return requests.assign(**{n.PROMPT_AT_LIMIT.name: mark})


def _cut_to(values: np.ndarray, limit: float) -> np.ndarray:
    """Places (in order of time) of the prompts of this length in stretches in which it was the limit."""
    at, stretch = np.flatnonzero(values == limit), np.cumsum(values > limit)
    near = (values < limit) & (values >= limit - max(NEAR_TOKENS, NEAR * limit))
    below = np.bincount(stretch[near], minlength=int(stretch[-1]) + 1)
    equal = np.bincount(stretch[at], minlength=int(stretch[-1]) + 1)
    return at[((equal >= MANY) & (equal > below))[stretch[at]]]
