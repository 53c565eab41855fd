"""Which requests demand a schema or grammar, as the spans of their model calls say."""

from __future__ import annotations

import pandas as pd

from correlator.join import roles as r
from correlator.model import names as n

FREE = ("", "text", "image", "speech", '{"type":"text"}', '{"type": "text"}')
"""Values that bind the answer to no schema."""


def structured(spans: pd.DataFrame) -> pd.Series:
    """By trace: 1 where one of its model calls demands one, else 0; unknown where no call of any trace says its format.

    An instrumentation that tells formats leaves them out of calls that demand none.
    """
    calls = spans[spans["own_role"].isin([r.CLIENT, r.SERVER])]
    bound = ~calls["output_type"].str.strip().isin(FREE)
    by_trace = bound.astype(float).groupby(calls["trace_id"]).max()
    told = (calls["output_type"] != "").any()
    return (by_trace if told else by_trace.where(by_trace < 0)).rename(n.STRUCTURED.name)
