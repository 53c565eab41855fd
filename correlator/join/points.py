"""Metric points of aliased names as one tall table of increments and levels: (signal, rank, series, time, value)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from correlator.join.aliases import MetricAlias, folded, spelled
from correlator.join.within import RECORDED, Within, during
from correlator.store import Store

KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
SHAPES = {"level": "level", "rate": "counter", "mean": "distribution"}
COLUMNS = ["signal", "rank", "across", "series", "start", "seconds", "value", "weight"]
GAP = 8
"""An increment over more than this many usual intervals spans an outage and is not spread over it."""
DELTA = 1
"""The aggregation temporality of points that are increments already."""


def metric_names(store: Store, within: Within = None) -> frozenset[str]:
    """Names of all metrics that have points, as spelled there."""
    inside = during("TimeUnix", within)
    union = " UNION DISTINCT ".join(
        f"SELECT DISTINCT toString(MetricName) AS name FROM otel_metrics_{k} WHERE {inside}" for k in KINDS
    )
    return frozenset(store.query(union)["name"])


def aliased(names: Iterable[str], per: str = "") -> list[str]:
    """Those of the metrics that mean a signal of the system as a whole, or of each "gpu"."""
    return sorted(name for name in names if any(alias.per == per for alias in spelled().get(folded(name), ())))


def read_points(store: Store, names: Iterable[str], within: Within = None) -> pd.DataFrame:
    """Columns: signal, rank, across, series, start, seconds, value, weight. One row a point of an aliased series.

    `value` is a level, a rate per second, or a mean per request; `weight` the number of requests in a mean.
    """
    known = aliased(names)
    raw = _read(store, known, during("TimeUnix", within)) if known else pd.DataFrame()
    if raw.empty:
        return pd.DataFrame(columns=COLUMNS)
    raw = identified(raw)
    points = measured(raw).merge(_meanings(raw.drop_duplicates("id"), _keys(known)), on="id")
    points["value"] *= points["scale"]
    return points.loc[np.isfinite(points["value"]), COLUMNS].reset_index(drop=True)


def identified(raw: pd.DataFrame) -> pd.DataFrame:
    """A number for each series (`id`) of rows that hold each in one piece."""
    return raw.assign(id=np.cumsum(_begins(raw, "name") | _begins(raw, "shape") | _begins(raw, "series")))


def _begins(raw: pd.DataFrame, column: str) -> np.ndarray:
    """Where the value is another than in the row before."""
    values = raw[column].to_numpy()
    return np.concatenate([[True], values[1:] != values[:-1]])


def _read(store: Store, names: list[str], inside: str) -> pd.DataFrame:
    """All points of these metrics, each series in one piece and in order of time."""
    labels = "".join(f", {_label(key)} AS `{key}`" for key in _keys(names))
    selects = [
        _selected("gauge", "Value", "'level'", labels, temporality="0"),
        _selected("sum", "Value", "if(IsMonotonic, 'counter', 'level')", labels),
        _selected("histogram", "Sum", "'distribution'", labels, count="Count"),
        _selected("exponential_histogram", "Sum", "'distribution'", labels, count="Count"),
        _selected("summary", "Sum", "'distribution'", labels, temporality="2", count="Count"),
    ]
    union = " UNION ALL ".join(f"{select} AND {inside}" for select in selects)
    return store.query(f"SELECT * FROM ({union}) ORDER BY name, shape, series, time", names=names)


def _selected(
    kind: str, value: str, shape: str, labels: str, temporality: str = "AggregationTemporality", count: str = "0"
) -> str:
    return f"""SELECT toString(MetricName) AS name, {shape} AS shape,
        cityHash64(ResourceAttributes, Attributes) AS series,
        toUnixTimestamp64Nano(TimeUnix) AS time, toUnixTimestamp64Nano(StartTimeUnix) AS began{labels},
        {value} AS value, toFloat64({count}) AS count, toInt32({temporality}) AS temporality
        FROM otel_metrics_{kind} WHERE MetricName IN {{names:Array(String)}} AND {RECORDED}"""


def _keys(names: Iterable[str]) -> list[str]:
    """Labels that decide what these metrics mean."""
    found = [alias for name in names for alias in spelled()[folded(name)] if not alias.per]
    return sorted({key for alias in found for key in (*alias.where, *alias.only)})


def _label(key: str) -> str:
    """A label under its OpenTelemetry name, else as Prometheus spells it."""
    own, other = f"Attributes['{key}']", f"Attributes['{folded(key)}']"
    return own if own == other else f"if({own} = '', {other}, {own})"


def _meanings(heads: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """For the first point of each series: the signals that the series means, a row each."""
    rows = [
        (head["id"], alias.signal, alias.rank, alias.across, alias.scale)
        for head in heads[["id", "name", "shape", *keys]].to_dict("records")
        for alias in meant(head["name"], head["shape"], head)
    ]
    found = pd.DataFrame(rows, columns=["id", "signal", "rank", "across", "scale"])
    return found.astype({"id": np.int64, "rank": np.int64, "scale": float})


def meant(name: str, shape: str, labels: Mapping[str, str], per: str = "") -> list[MetricAlias]:
    """What a series of this name, shape and labels means, of the system as a whole or of each "gpu"."""
    candidates = [alias for alias in spelled()[folded(name)] if alias.per == per and SHAPES[alias.how] == shape]
    return [alias for alias in candidates if alias.means(labels)]


def measured(raw: pd.DataFrame) -> pd.DataFrame:
    """The level, rate or mean that each point tells, where it tells one; each series in one piece, in order of time."""
    level, mean = raw["shape"] == "level", raw["shape"] == "distribution"
    seconds = _seconds(raw)
    grown, count = _increase(raw, "value"), _increase(raw, "count").where(mean)
    per = seconds.where(~mean, count.where(count > 0))
    told = level | (_unbroken(raw["id"], seconds) & per.notna())
    middle = raw["time"] - (seconds.where(told, 0).fillna(0) * 5e8).astype(np.int64)
    points = pd.DataFrame(
        {"id": raw["id"], "series": raw["series"], "start": middle.where(~level, raw["time"]),
         "seconds": seconds.where(~level), "value": raw["value"].where(level, grown / per), "weight": count}
    )  # fmt: skip
    return points[told]


def _increase(raw: pd.DataFrame, column: str) -> pd.Series:
    """Increase since the previous point of the series; after a counter reset its whole value."""
    value = raw[column]
    grown = value.diff().where(raw["id"] == raw["id"].shift())
    return value.where((raw["temporality"] == DELTA) | (grown < 0), grown)


def _seconds(raw: pd.DataFrame) -> pd.Series:
    """Time that a point covers: since the previous one of the series, or as a delta point itself says."""
    since = (raw["time"].diff() / 1e9).where(raw["id"] == raw["id"].shift())
    own = (raw["time"] - raw["began"]) / 1e9
    return own.where((raw["temporality"] == DELTA) & (raw["began"] > 0) & (own > 0), since)


def _unbroken(series: pd.Series, seconds: pd.Series) -> pd.Series:
    usual = seconds.groupby(series).transform("median")
    return (seconds > 0) & (seconds <= GAP * usual)
