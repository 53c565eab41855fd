"""What the GPUs told over time: for each device and signal its samples, with ratios and sums among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import numpy as np
import pandas as pd

from correlator.join.aliases import metrics
from correlator.join.gpu_owners import Names, of_others, with_owners
from correlator.join.gpu_seen import Seen
from correlator.join.points import identified, measured
from correlator.join.series import BUCKET_NS
from correlator.join.within import RECORDED, Within, during
from correlator.model import names as n
from correlator.store import Store

Track = tuple[np.ndarray, np.ndarray]
"""Times (Unix ns, ascending) and values."""
Samples = Mapping[str, Mapping[str, Track]]
"""By device and signal."""

POINTS = 500_000
"""Points read; where there are more, means over so long that there are not."""
LAST_XID = "gpu_last_xid"
PROCESSES = {"gpu_process_memory": n.GPU_OTHER_MEMORY.name, "gpu_process_sm": n.GPU_OTHER_SM.name}
LINK_ERRORS = ["nvlink_crc_flit", "nvlink_crc_data", "nvlink_replay", "nvlink_recovery"]
_DERIVED = {n.GPU_POWER_SHARE.name: "max", n.GPU_OTHER_MEMORY.name: "max", n.GPU_OTHER_SM.name: "max"}
_COLUMNS = ["device", "signal", "rank", "across", "series", "start", "value"]
_NUMBER = """NOT (startsWith(MetricName, 'DCGM_FI_') AND (Value >= 140737488355328
    OR Value BETWEEN 2147483632 AND 2147483635))"""
"""DCGM's blanks are no numbers: what it says in place of one that it has not; old exporters print them."""


@lru_cache(maxsize=1)
def across() -> dict[str, str]:
    """By signal: how the GPUs of one engine are put together."""
    told = {alias.signal: alias.across for alias in metrics() if alias.per == "gpu" and alias.signal in n.SIGNALS}
    return told | _DERIVED


def samples(store: Store, found: Collection[Seen], engines: Mapping[str, Names], within: Within) -> Samples:
    """Samples of these series. `engines`: by device, the names of the processes of the engines that it serves."""
    rows = _rows(_raw(store, found, within), found)
    mine = rows["signal"].isin(PROCESSES)
    told = [_told(rows[~mine]), *_shared(with_owners(rows[mine], {s.series: s.attributes for s in found}), engines)]
    every = pd.concat([one for one in told if len(one)]) if any(map(len, told)) else pd.Series(dtype=float)
    return (
        {str(device): _tracks(its.droplevel("device")) for device, its in every.groupby(level="device")}
        if len(every)
        else {}
    )


def _raw(store: Store, found: Collection[Seen], within: Within) -> pd.DataFrame:
    names, series = sorted({one.name for one in found}), sorted({one.series for one in found})
    inside = f"has({{series:Array(UInt64)}}, series) AND {_NUMBER} AND {RECORDED} AND {during('TimeUnix', within)}"
    union = " UNION ALL ".join(
        f"""SELECT toString(MetricName) AS name, cityHash64(ResourceAttributes, Attributes) AS series,
            toUnixTimestamp64Nano(TimeUnix) AS time, toUnixTimestamp64Nano(StartTimeUnix) AS began, Value AS value,
            toFloat64(0) AS count, toInt32({temporality}) AS temporality
            FROM otel_metrics_{kind} WHERE MetricName IN {{names:Array(String)}} AND {inside}"""
        for kind, temporality in (("gauge", "0"), ("sum", "AggregationTemporality"))
    )
    masks = sorted({one.name for one in found if any(alias.bits for alias in one.meanings) or one.shape == "counter"})
    query = _thinned(f"({union})", _step(found)) if _step(found) > 1 else f"SELECT * FROM ({union})"
    return store.query(f"{query} ORDER BY name, series, time", names=names, series=series, whole=masks)


def _thinned(points: str, step: int) -> str:
    """Of each stretch of time one point a series: its mean, of counters and sets of bits its last."""
    return f"""SELECT name, series, max(at) AS time, argMax(began, at) AS began,
        if(has({{whole:Array(String)}}, name), argMax(told, at), avg(told)) AS value,
        toFloat64(0) AS count, any(temporality) AS temporality
        FROM (SELECT *, time AS at, value AS told FROM {points}) GROUP BY name, series, intDiv(at, {step})"""


def _step(found: Collection[Seen]) -> int:
    """Nanoseconds of which one point a series is read."""
    points = sum(one.points for one in found)
    extent = max((one.end for one in found), default=0) - min((one.start for one in found), default=0)
    return 1 if points <= POINTS else max(1, extent * len(found) // POINTS)


def _rows(raw: pd.DataFrame, found: Collection[Seen]) -> pd.DataFrame:
    """One row for each thing that a point means."""
    if raw.empty:
        return pd.DataFrame(columns=_COLUMNS)
    shapes = {one.name: one.shape for one in found}
    raw = identified(raw.assign(shape=raw["name"].map(shapes)))
    heads = raw.drop_duplicates("id").set_index(["name", "series"])["id"]
    meant = pd.DataFrame(
        [
            (heads[one.name, one.series], one.device, a.signal, a.rank, a.across, a.scale, a.bits)
            for one in found
            if (one.name, one.series) in heads.index
            for a in one.meanings
        ],
        columns=["id", "device", "signal", "rank", "across", "scale", "bits"],
    )
    rows = measured(raw).merge(meant, on="id")
    set_ = (rows["value"].fillna(0).clip(lower=0).astype(np.int64) & rows["bits"]) != 0
    rows["value"] = (rows["value"] * rows["scale"]).where(rows["bits"] == 0, set_.astype(float))
    return rows.loc[np.isfinite(rows["value"]), _COLUMNS]


def _told(rows: pd.DataFrame) -> pd.Series:
    """Values by device, signal and time; where a source of better rank is silent for some seconds the next one speaks.

    Several series of one device (reasons, directions, links) are put together as GPUs are.
    """
    if rows.empty:
        return pd.Series(dtype=float)
    best = rows.groupby(["device", "signal", rows["start"] // BUCKET_NS])["rank"].transform("min")
    kept = rows[rows["rank"] == best]
    parts = [same.groupby(["device", "signal", "start"])["value"].agg(how) for how, same in kept.groupby("across")]
    return pd.concat(parts)


def _shared(rows: pd.DataFrame, engines: Mapping[str, Names]) -> list[pd.Series]:
    """What processes of others hold of each device."""
    return [
        pd.concat(
            {(device, PROCESSES[signal]): of_others(its, engines.get(device, frozenset()))}, names=["device", "signal"]
        )
        for (device, signal), its in rows.groupby(["device", "signal"])
    ]


def _tracks(values: pd.Series) -> dict[str, Track]:
    wide = _derived(values.unstack("signal").sort_index())
    present = {str(signal): wide[signal].dropna() for signal in wide.columns}
    return {
        signal: (column.index.to_numpy(dtype=np.int64), column.to_numpy(dtype=float))
        for signal, column in present.items()
        if len(column)
    }


def _derived(wide: pd.DataFrame) -> pd.DataFrame:
    """What follows from other signals of the same device and moment."""

    def column(name: str) -> pd.Series:
        return wide[name] if name in wide else pd.Series(np.nan, wide.index)

    used, free, reserved = (column(s) for s in (n.GPU_MEMORY_USED.name, "gpu_memory_free", "gpu_memory_reserved"))
    total = column(n.GPU_MEMORY_TOTAL.name).fillna(used + free + reserved.fillna(0))
    usable = (used + free).fillna(total - reserved.fillna(0))
    limit = column(n.GPU_POWER_LIMIT.name).ffill().bfill()
    links = wide[[name for name in LINK_ERRORS if name in wide]].sum(axis=1, min_count=1)
    return wide.drop(columns=[*LINK_ERRORS, "gpu_memory_free", "gpu_memory_reserved"], errors="ignore").assign(
        **{
            n.GPU_MEMORY_TOTAL.name: total,
            n.GPU_MEMORY_SHARE.name: column(n.GPU_MEMORY_SHARE.name).fillna(used / usable.where(usable > 0)),
            n.GPU_POWER_SHARE.name: column(n.GPU_POWER.name) / limit.where(limit > 0),
            n.NVLINK_ERRORS.name: column(n.NVLINK_ERRORS.name).fillna(links),
        }
    )
