"""Long prompts in front of short ones: what was in prefill when a request came, and how long short prompts wait."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.model import names as n

SEVERAL = 4
"""A prompt this many times as long as one's own: four fifths of the wait behind it is then somebody else's work."""
SHORT = 0.5
"""The shorter half of all prompts."""


def with_prefill_ahead(requests: pd.DataFrame, share: float) -> pd.DataFrame:
    """Requests with the largest prompt ahead of each and the first-token time of short ones.

    Unknown where traces were sampled (`share` below 1): who was ahead may be missing.
    """
    needed = [n.TIME_TO_FIRST_TOKEN.name, n.INPUT_TOKENS.name]
    if share < 1 or not set(needed) <= set(requests.columns) or requests[needed].dropna().empty:
        return requests
    first, tokens = requests[needed[0]], requests[needed[1]]
    short = first.where(tokens <= tokens.quantile(SHORT))
    return requests.assign(**{n.LONG_PREFILL_AHEAD.name: _ahead(requests), n.SHORT_FIRST_TOKEN.name: short})


def _ahead(requests: pd.DataFrame) -> np.ndarray:
    tokens = np.asarray(requests[n.INPUT_TOKENS.name], dtype=float)
    came = _arrival(requests)
    spoke = came + 1e9 * np.asarray(requests[n.TIME_TO_FIRST_TOKEN.name], dtype=float)
    found = np.full(len(requests), np.nan)
    for i in np.flatnonzero(~np.isnan(tokens)):
        others = tokens[(came < came[i]) & (spoke > came[i]) & (tokens >= SEVERAL * tokens[i])]
        found[i] = others.max() if len(others) else 0.0
    return found


def _arrival(requests: pd.DataFrame) -> np.ndarray:
    """When each came to the engine: its end less the engine's own time, where that is known."""
    start = requests["start"].astype(float)
    if n.SERVER_LATENCY.name not in requests:
        return np.asarray(start)
    at_engine = requests["end"] - 1e9 * requests[n.SERVER_LATENCY.name]
    return np.asarray(np.fmax(at_engine, start))
