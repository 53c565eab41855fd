"""How evenly requests lie on the replicas of an engine: each tells its own batch and queue."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from correlator.join.aliases import folded, spelled
from correlator.join.within import RECORDED, Within, during
from correlator.model import names as n
from correlator.store import Store

LOADS = (n.RUNNING.name, n.WAITING.name)
MODEL = "model"
SERIES = 10_000
"""Series whose model is looked up; the others count as replicas of one unnamed model."""


def with_models(store: Store, points: pd.DataFrame, names: Collection[str], within: Within = None) -> pd.DataFrame:
    """Points with the model that each series of a load serves, "" where it does not say: only replicas of one model
    can share its requests."""
    telling = [name for name in names if any(alias.signal in LOADS for alias in spelled().get(folded(name), ()))]
    if not telling or points.empty:
        return points
    known = store.query(
        f"""SELECT cityHash64(ResourceAttributes, Attributes) AS series, any(Attributes['model_name']) AS model
            FROM otel_metrics_gauge WHERE MetricName IN {{names:Array(String)}} AND {RECORDED}
            AND {during("TimeUnix", within)} GROUP BY series ORDER BY series LIMIT {SERIES}""",
        names=sorted(telling),
    )
    return points.assign(**{MODEL: points["series"].map(dict(zip(known["series"], known["model"], strict=True)))})


def with_split(points: pd.DataFrame, wide: pd.DataFrame, bucket_ns: int) -> pd.DataFrame:
    """Share of requests beyond an even split, and the requests at the emptiest replica; unknown of a single one.

    The share is Hoover's index: 0 where all have as many, near 1 where one of many has all. A stretch in which a
    replica was silent, though it spoke before and after, is left out: its load is not known.
    """
    splits = list(_splits(points, bucket_ns))
    if not splits:
        return wide
    beyond, whole, least = (pd.concat(parts, axis=1).sum(axis=1) for parts in zip(*splits, strict=True))
    found = {n.LOAD_IMBALANCE.name: beyond / whole.where(whole > 0), n.LEAST_LOAD.name: least}
    return wide.assign(**{name: column.reindex(wide.index) for name, column in found.items()})


def _splits(points: pd.DataFrame, bucket_ns: int) -> Iterator[tuple[pd.Series, pd.Series, pd.Series]]:
    """Of each model with several replicas: requests beyond an even split, all of them, those at the emptiest."""
    levels = points[points["signal"].isin(LOADS)]
    levels = levels[levels["rank"] == levels.groupby("signal")["rank"].transform("min")]
    models = levels[MODEL].fillna("") if MODEL in levels else pd.Series("", levels.index)
    for _, same in levels.groupby(models):
        load = _load(same, bucket_ns)
        several = load[(load.notna().sum(axis=1) == _alive(load)) & (load.notna().sum(axis=1) >= 2)]
        if len(several):
            beyond = several.sub(several.mean(axis=1), axis=0).clip(lower=0).sum(axis=1)
            yield beyond, several.sum(axis=1), several.min(axis=1)


def _load(levels: pd.DataFrame, bucket_ns: int) -> pd.DataFrame:
    """Requests running or waiting by stretch (rows) and replica (columns)."""
    by = [levels["start"] // bucket_ns, levels["signal"], levels["series"]]
    means = levels.groupby(by)["value"].mean().unstack("signal")
    if n.RUNNING.name not in means:
        return pd.DataFrame()
    running = means[n.RUNNING.name].dropna()
    waiting = means[n.WAITING.name] if n.WAITING.name in means else running * 0
    return (running + waiting.reindex(running.index).fillna(0)).unstack("series")


def _alive(load: pd.DataFrame) -> pd.Series:
    """How many replicas lived in each stretch: between the first and the last time that they spoke."""
    spoke = load.notna()
    return (spoke.cummax() & spoke[::-1].cummax()[::-1]).sum(axis=1)
