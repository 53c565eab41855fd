"""What each service that a trace visits did by itself: its own time, and whether the trace failed, or logged an error,
of it and nothing within.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join.within import Within, during
from correlator.model import names as n
from correlator.store import Store

CALLS = ("Client", "Producer")
"""Kinds of spans whose own time and failure are somebody else's, who may have told nothing."""
ERROR_SEVERITY = 17
"""OpenTelemetry's severity number from which a log record tells of an error."""
RECORDS = 50_000
"""Pairs of span and service that logged errors, read at most."""


def visits(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each service that a trace visits; none where there is only one service. `table`: prepared spans."""
    services, names = pd.factorize(table["service"], sort=True)
    if len(names) < 2:
        return pd.DataFrame()
    root = table["root"].to_numpy()
    kept = np.flatnonzero(root >= 0)
    itself = ~table["kind"].isin(CALLS).to_numpy()
    key = table["trace"].to_numpy()[kept] * np.int64(len(names)) + services[kept]
    pairs, row = np.unique(key, return_inverse=True)
    own = np.bincount(row, np.where(itself, table["own"].to_numpy(), 0.0)[kept], len(pairs))
    failed = np.bincount(row, (_innermost_failed(table) & itself)[kept], len(pairs)) > 0
    first = np.zeros(len(pairs), dtype=np.int64)
    first[row] = root[kept]
    roots = table.iloc[first]
    return pd.DataFrame(
        {
            "trace_id": roots["trace_id"].to_numpy(dtype=object),
            "start": roots["start"].to_numpy(dtype=np.int64),
            "host": "",
            "service": names.to_numpy(dtype=object)[pairs % len(names)],
            "whole": roots["duration"].to_numpy() / 1e9,
            n.SERVICE_TIME.name: own,
            n.SERVICE_ERROR.name: failed.astype(float),
            f"n.{n.SERVICE_ERROR.name}": 1.0,
        }
    )


def _innermost_failed(table: pd.DataFrame) -> np.ndarray:
    """Failed spans below which none failed, whatever those in between say."""
    failed, parent, depth = (table[name].to_numpy() for name in ("failed", "parent", "depth"))
    failed, above = failed.astype(bool), np.zeros(len(table), dtype=bool)
    if failed.any():
        for level in range(int(depth.max()), 0, -1):
            above[parent[(depth == level) & (failed | above)]] = True
    return np.asarray(failed & ~above)


def with_logged(rows: pd.DataFrame, store: Store, table: pd.DataFrame, share: float, within: Within) -> pd.DataFrame:
    """Rows with 1 where the service was the innermost of the trace to log an error, 0 for the others; without the
    column where no service ever logged one."""
    if rows.empty:
        return rows
    logged = store.query(
        f"""SELECT TraceId AS trace_id, SpanId AS span_id, toString(ServiceName) AS service FROM otel_logs
            WHERE SeverityNumber >= {ERROR_SEVERITY} AND TraceId != '' AND {during("Timestamp", within)}
            AND cityHash64(TraceId) % {{modulus:UInt32}} = 0
            GROUP BY TraceId, SpanId, ServiceName ORDER BY TraceId, SpanId, ServiceName LIMIT {RECORDS}""",
        modulus=round(1 / share),
    )
    if logged.empty:
        return rows
    depths = table[["trace_id", "span_id", "depth"]]
    logged = logged.merge(depths, on=["trace_id", "span_id"], how="left").fillna({"depth": -1})
    logged = logged[logged["depth"] == logged.groupby("trace_id")["depth"].transform("max")]
    pairs = pd.MultiIndex.from_frame(logged[["trace_id", "service"]])
    told = pd.MultiIndex.from_frame(rows[["trace_id", "service"]]).isin(pairs)
    return rows.assign(**{n.SERVICE_LOGGED.name: told.astype(float)})
