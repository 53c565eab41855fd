"""Metric points of aliased names as one tall table of increments and levels: (signal, rank, series, time, value)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join.aliases import MetricAlias, folded, metrics
from correlator.store import Store

KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
SHAPES = {"level": "level", "rate": "counter", "mean": "distribution"}
COLUMNS = ["signal", "rank", "across", "series", "start", "seconds", "value", "weight"]
GAP = 8
"""An increment over more than this many usual intervals spans an outage and is not spread over it."""


def read_points(store: Store) -> pd.DataFrame:
    """Columns: signal, rank, across, series, start, seconds, value, weight. One row a point of an aliased series.

    `value` is a level, a rate per second, or a mean per request; `weight` the number of requests in a mean.
    """
    names = _present(store)
    raw = pd.concat([_scalars(store, names), _distributions(store, names)], ignore_index=True)
    by_name = dict(tuple(raw.groupby(raw["name"].map(folded)))) if len(raw) else {}
    matched = [_matching(by_name[folded(a.name)], a) for a in metrics() if folded(a.name) in by_name]
    matched = [points for points in matched if len(points)]
    return pd.concat(matched, ignore_index=True) if matched else pd.DataFrame(columns=COLUMNS)


def _present(store: Store) -> list[str]:
    """Metric names of the store that some alias means, as spelled there."""
    wanted = {folded(alias.name) for alias in metrics()}
    union = " UNION DISTINCT ".join(
        f"SELECT DISTINCT toString(MetricName) AS name FROM otel_metrics_{k}" for k in KINDS
    )
    names = store.query(f"SELECT name FROM ({union}) ORDER BY name")
    return [name for name in names["name"] if folded(name) in wanted]


def _keys() -> list[str]:
    return sorted({key for alias in metrics() for key in alias.where})


def _columns() -> str:
    chosen = ", ".join(f"Attributes['{key}'] AS `where.{key}`" for key in _keys())
    return f"""toString(MetricName) AS name, toString(cityHash64(ResourceAttributes, Attributes)) AS series,
        toUnixTimestamp64Nano(TimeUnix) AS time, toUnixTimestamp64Nano(StartTimeUnix) AS began, {chosen}"""


def _selected(table: str, value: str, shape: str, temporality: str = "AggregationTemporality", count: str = "0") -> str:
    return f"""SELECT {_columns()}, {value} AS value, toFloat64({count}) AS count,
        toInt32({temporality}) AS temporality, {shape} AS shape FROM {table}
        WHERE MetricName IN {{names:Array(String)}} AND bitAnd(Flags, 1) = 0"""


def _scalars(store: Store, names: list[str]) -> pd.DataFrame:
    gauge = _selected("otel_metrics_gauge", "Value", "'level'", temporality="0")
    total = _selected("otel_metrics_sum", "Value", "if(IsMonotonic, 'counter', 'level')")
    return store.query(f"SELECT * FROM ({gauge} UNION ALL {total}) ORDER BY name, series, time", names=names)


def _distributions(store: Store, names: list[str]) -> pd.DataFrame:
    kinds = ("histogram", "exponential_histogram")
    selects = [_selected(f"otel_metrics_{kind}", "Sum", "'distribution'", count="Count") for kind in kinds]
    selects.append(_selected("otel_metrics_summary", "Sum", "'distribution'", temporality="2", count="Count"))
    union = " UNION ALL ".join(selects)
    return store.query(f"SELECT * FROM ({union}) ORDER BY name, series, time", names=names)


def _matching(raw: pd.DataFrame, alias: MetricAlias) -> pd.DataFrame:
    rows = raw[raw["shape"] == SHAPES[alias.how]]
    if alias.where:
        rows = rows[np.logical_or.reduce([rows[f"where.{k}"].isin(v) for k, v in alias.where.items()])]
    if rows.empty:
        return rows
    points = {"level": _levels, "rate": _rates, "mean": _means}[alias.how](rows)
    points["value"] *= alias.scale
    points = points[np.isfinite(points["value"])]
    return points.assign(signal=alias.signal, rank=alias.rank, across=alias.across)


def _levels(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "series": rows["series"],
            "start": rows["time"],
            "seconds": np.nan,
            "value": rows["value"],
            "weight": np.nan,
        }
    )


def _increments(rows: pd.DataFrame) -> pd.DataFrame:
    """Increase since the previous point of the series and the seconds it took; counter resets start from zero."""
    by = rows.groupby("series")
    seconds = by["time"].diff() / 1e9
    cumulative = rows["temporality"] != 1
    for column in ("value", "count"):
        delta = by[column].diff()
        restarted = delta < 0
        rows = rows.assign(
            **{f"d_{column}": np.where(cumulative, np.where(restarted, rows[column], delta), rows[column])}
        )
    own = (rows["time"] - rows["began"]) / 1e9
    seconds = seconds.where(cumulative, own.where((rows["began"] > 0) & (own > 0), seconds))
    usual = seconds.groupby(rows["series"]).transform("median")
    kept = (seconds > 0) & (seconds <= GAP * usual)
    return rows.assign(seconds=seconds)[kept]


def _rates(rows: pd.DataFrame) -> pd.DataFrame:
    rows = _increments(rows)
    middle = rows["time"] - (rows["seconds"] * 5e8).astype(np.int64)
    return pd.DataFrame(
        {"series": rows["series"], "start": middle, "seconds": rows["seconds"],
         "value": rows["d_value"] / rows["seconds"], "weight": np.nan}
    )  # fmt: skip


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    rows = _increments(rows)
    rows = rows[rows["d_count"] > 0]
    middle = rows["time"] - (rows["seconds"] * 5e8).astype(np.int64)
    return pd.DataFrame(
        {"series": rows["series"], "start": middle, "seconds": rows["seconds"],
         "value": rows["d_value"] / rows["d_count"], "weight": rows["d_count"]}
    )  # fmt: skip
