"""What the two ends of a model call tell of its answer: whether it was cut, and when its tokens reached the client."""

from __future__ import annotations

import pandas as pd

from correlator.model import names as n


def truncated(calls: pd.DataFrame, serves: pd.DataFrame) -> pd.Series:
    """1 where an answer ended at its limit: it says so, or has as many tokens as were allowed, which clients relabel.

    Unknown where neither the reason nor both counts were told.
    """
    both = pd.concat([calls, serves])
    reason, room = both["finish_reason"], both[n.MAX_TOKENS.name]
    full = both[n.OUTPUT_TOKENS.name] >= room.where(room > 0)
    told = (reason != "") | (both[n.OUTPUT_TOKENS.name].notna() & room.notna())
    ended = (reason.str.contains("length|max_tokens", case=False) | full).astype(float)
    return ended.where(told).groupby(both["trace_id"]).max()


def first_tokens(calls: pd.DataFrame, serves: pd.DataFrame) -> pd.DataFrame:
    """How late the client had the engine's first token, and how fast the others then came."""
    served = serves.assign(first=serves["start"] + serves[n.TIME_TO_FIRST_TOKEN.name] * 1e9).groupby("trace_id")
    had = calls.assign(first=calls["start"] + calls[n.TIME_TO_FIRST_TOKEN.name] * 1e9).groupby("trace_id")
    rest = calls["duration"] / 1e9 - calls[n.TIME_TO_FIRST_TOKEN.name]
    others = (calls[n.OUTPUT_TOKENS.name] - 1).where(lambda tokens: tokens > 0)
    return pd.DataFrame(
        {
            n.FIRST_TOKEN_HELD.name: ((had["first"].first() - served["first"].first()) / 1e9).clip(lower=0),
            n.CLIENT_PER_TOKEN.name: (rest / others).groupby(calls["trace_id"]).mean(),
        }
    )
