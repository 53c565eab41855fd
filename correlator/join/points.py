"""Metric points of aliased names as one tall table of increments and levels: (signal, rank, series, time, value)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join.aliases import MetricAlias, folded, metrics
from correlator.store import Store

GAP = 8
"""An increment over more than this many usual intervals spans an outage and is not spread over it."""


def read_points(store: Store) -> pd.DataFrame:
    """Columns: signal, rank, across, start, seconds, value, weight. One row a point of one aliased series.

    `value` is a level, a rate per second, or a mean per request; `weight` the number of requests in a mean.
    """
    raw = pd.concat([_scalars(store), _distributions(store)], ignore_index=True)
    if raw.empty:
        return pd.DataFrame(columns=["signal", "rank", "across", "start", "seconds", "value", "weight"])
    raw["folded"] = raw["name"].map(folded)
    matched = [points for alias in metrics() if len(points := _matching(raw, alias))]
    if not matched:
        return pd.DataFrame(columns=["signal", "rank", "across", "start", "seconds", "value", "weight"])
    return pd.concat(matched, ignore_index=True)


def _keys() -> list[str]:
    return sorted({key for alias in metrics() for key in alias.where})


def _columns() -> str:
    chosen = ", ".join(f"Attributes['{key}'] AS `where.{key}`" for key in _keys())
    return f"""toString(MetricName) AS name, toString(cityHash64(ResourceAttributes, Attributes)) AS series,
        toUnixTimestamp64Nano(TimeUnix) AS time, toUnixTimestamp64Nano(StartTimeUnix) AS began, {chosen}"""


def _wanted() -> list[str]:
    return sorted({folded(alias.name) for alias in metrics()})


_FOLDED = "replaceRegexpAll(toString(MetricName), '[.:-]', '_') IN {names:Array(String)} AND bitAnd(Flags, 1) = 0"


def _selected(table: str, value: str, shape: str, temporality: str = "AggregationTemporality", count: str = "0") -> str:
    return f"""SELECT {_columns()}, {value} AS value, toFloat64({count}) AS count,
        toInt32({temporality}) AS temporality, {shape} AS shape FROM {table} WHERE {_FOLDED}"""


def _scalars(store: Store) -> pd.DataFrame:
    gauge = _selected("otel_metrics_gauge", "Value", "'level'", temporality="0")
    total = _selected("otel_metrics_sum", "Value", "if(IsMonotonic, 'counter', 'level')")
    return store.query(f"SELECT * FROM ({gauge} UNION ALL {total}) ORDER BY name, series, time", names=_wanted())


def _distributions(store: Store) -> pd.DataFrame:
    kinds = ("histogram", "exponential_histogram")
    selects = [_selected(f"otel_metrics_{kind}", "Sum", "'distribution'", count="Count") for kind in kinds]
    selects.append(_selected("otel_metrics_summary", "Sum", "'distribution'", temporality="2", count="Count"))
    union = " UNION ALL ".join(selects)
    return store.query(f"SELECT * FROM ({union}) ORDER BY name, series, time", names=_wanted())


_SHAPES = {"level": ("level",), "rate": ("counter",), "mean": ("distribution",)}


def _matching(raw: pd.DataFrame, alias: MetricAlias) -> pd.DataFrame:
    rows = raw[(raw["folded"] == folded(alias.name)) & raw["shape"].isin(_SHAPES[alias.how])]
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
