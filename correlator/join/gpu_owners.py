"""Whose processes are on a GPU: the serving engine's, or others that share it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from correlator.join.connect import Attributes

Names = frozenset[tuple[str, str]]
"""Processes, containers and pods: each an attribute with its value."""
_GROUPS = ("k8s.pod.uid", "container.id", "process.pid")
"""What processes of one owner share, the widest first."""


def names(attributes: Attributes) -> Names:
    """By which names a process, or a serving engine's own telemetry, can be known."""
    return frozenset((key, attributes[key]) for key in _GROUPS if attributes.get(key))


def owner(attributes: Attributes) -> str:
    """Processes of one pod or container belong together; outside of both each stands for itself."""
    return next((attributes[key] for key in _GROUPS if attributes.get(key)), "")


def of_others(processes: pd.DataFrame, engines: Names) -> pd.Series:
    """By time: what is not the engines'. Columns: start, owner, names, value.

    Where no process is known to be an engine's, the largest owner is left out. No engine can hold more than that, so
    this is the least that others hold.
    """
    ours = processes["names"].map(lambda its: bool(its & engines)).to_numpy(dtype=bool)
    by_time = processes.groupby("start")["value"]
    if ours.any():
        return processes["value"].where(~ours, 0.0).groupby(processes["start"]).sum()
    largest = processes.groupby(["start", "owner"])["value"].sum().groupby(level="start").max()
    return (by_time.sum() - largest).clip(lower=0)


def with_owners(rows: pd.DataFrame, told: Mapping[int, Attributes]) -> pd.DataFrame:
    """Rows of process metrics with `owner` and `names` of each series."""
    series = rows["series"].map(int)
    return rows.assign(
        owner=series.map({one: owner(attributes) for one, attributes in told.items()}),
        names=series.map({one: names(attributes) for one, attributes in told.items()}),
    )
