"""GPU telemetry joined: tied to requests, summed up for the system, its faults as events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from correlator.join.connect import CONNECT, Attributes, Groups, Tie
from correlator.join.connections import ANYBODY, Connection, connections, described
from correlator.join.gpu_faults import faults, without_echoes
from correlator.join.gpu_owners import Names, names
from correlator.join.gpu_samples import Samples, samples
from correlator.join.gpu_seen import SERIES, engines, latest, seen
from correlator.join.gpu_ties import at_work, by_bucket, tied, with_wholes
from correlator.join.points import metric_names
from correlator.join.requests import prepared
from correlator.join.roles import CLIENT, SERVER
from correlator.join.series import BUCKET_NS, EVERYWHERE
from correlator.join.spans import read_spans
from correlator.join.within import Within
from correlator.model import names as n
from correlator.model.evidence import Coverage, Event, Window
from correlator.store import Store

NOTES = 10
TRACES = 200
"""Traces looked at to know who serves."""
HOUR_NS = 3_600_000_000_000
Devices = Mapping[object, tuple[str, ...]]


@dataclass(frozen=True)
class Gpus:
    """`columns` by trace id, `series` by bucket. `untied`: for each signal why single requests do not have it."""

    columns: pd.DataFrame = field(default_factory=pd.DataFrame)
    series: pd.DataFrame = field(default_factory=pd.DataFrame)
    events: tuple[Event, ...] = ()
    untied: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    extent: Window | None = None


def read_gpus(
    store: Store,
    metrics: Collection[str],
    spans: pd.DataFrame,
    resources: Mapping[int, Attributes],
    within: Within = None,
    groups: Groups = CONNECT,
) -> Gpus:
    """Everything that GPU metrics tell. `resources` are those of `spans`, by their column `resource`."""
    found = seen(store, metrics, within)
    if not found:
        return Gpus()
    served = _served(spans)
    sources = _sources(served, resources, engines(store, within))
    by_source = connections(sources, found, groups)
    wholes = {one.device: one.whole for one in found if one.whole}
    used = {source: with_wholes(tie.devices, wholes) for source, tie in by_source.items()}
    wanted = [one for one in found if one.device in {device for its in used.values() for device in its}]
    told = samples(store, wanted, _owners(used, sources), within) if wanted else {}
    serving = {s: with_wholes(_at_work(tie, told), wholes) for s, tie in by_source.items()}
    requests = tied(served, serving, told, wholes)
    return Gpus(
        columns=_recorded(requests.columns, served, by_source, serving),
        series=by_bucket(tuple(dict.fromkeys(d for its in serving.values() for d in its)), told, wholes),
        events=tuple(faults(told)),
        untied=dict(requests.untied) or _unconnected(served, by_source),
        notes=(*map(str, described(by_source, sources, found)[:NOTES]), *_cut(len(found))),
        extent=Window(min(one.start for one in found), max(one.end for one in found) + 1),
    )


def read_connections(store: Store, groups: Groups = CONNECT) -> tuple[Connection, ...]:
    """What connects in the hour before the latest telemetry, and what does not; nothing where no GPU was seen."""
    within = Window(latest(store) - HOUR_NS, latest(store) + 1)
    found = seen(store, metric_names(store, within), within)
    if not found:
        return ()
    spans = read_spans(store, TRACES, within, resources=True)
    sources = _sources(_served(prepared(spans)), spans.resources, engines(store, within))
    return described(connections(sources, found, groups), sources, found)


def _sources(
    served: pd.DataFrame, resources: Mapping[int, Attributes], engines: Iterable[Attributes]
) -> dict[object, Attributes]:
    """What serves, by the hash of its spans' resource or the number of its metrics'."""
    by_spans = {source: resources.get(source, {}) for source in served["source"].unique()}
    return {**by_spans, **{f"metrics {i}": told for i, told in enumerate(engines)}} or {ANYBODY: {}}


def _served(spans: pd.DataFrame) -> pd.DataFrame:
    """When each request was at the engine, by the engine's own spans; else while its client's call was open."""
    if spans.empty:
        return pd.DataFrame(columns=["trace_id", "begin", "end", "source"])
    last = spans[~spans["retried"]]
    serves, calls = (last[last["own_role"] == role] for role in (SERVER, CLIENT))
    calls = calls[~calls["trace_id"].isin(serves["trace_id"])].assign(resource=ANYBODY)
    both = pd.concat([serves.astype({"resource": object}), calls])
    begin = both["start"].astype(np.int64)
    return pd.DataFrame(
        {"trace_id": both["trace_id"], "begin": begin, "end": begin + both["duration"], "source": both["resource"]}
    )


def _at_work(tie: Tie, told: Samples) -> tuple[str, ...]:
    """Where only the machine is known, its GPUs that hold nothing are left out."""
    return tie.devices if tie.specific else at_work(tie.devices, told)


def _owners(used: Devices, sources: Mapping[object, Attributes]) -> Mapping[str, Names]:
    """By device: the names of the engines that it serves."""
    out: dict[str, Names] = {}
    for source, its in used.items():
        for device in its:
            out[device] = out.get(device, frozenset()) | names(sources[source])
    return out


def _recorded(
    columns: pd.DataFrame, served: pd.DataFrame, by_source: Mapping[object, Tie], gpus: Devices
) -> pd.DataFrame:
    """With the GPUs that each request was tied to, and by what; as an attribute where they tell requests apart."""
    if columns.empty:
        return columns
    source = served.groupby("trace_id")["source"].first().reindex(columns.index)
    gpu = source.map({s: ", ".join(its) for s, its in gpus.items()})
    recorded = columns.assign(gpu=gpu, gpu_tie=source.map({s: tie.by for s, tie in by_source.items()}))
    return recorded.assign(**{"attribute.gpu": gpu}) if gpu.nunique() > 1 else recorded


def _unconnected(served: pd.DataFrame, by_source: Mapping[object, Tie]) -> dict[str, str]:
    """The reason, where none of the requests is tied to a GPU."""
    reasons = [by_source[source].reason for source in served["source"].unique()]
    return {signal.name: f"not tied to requests: {reasons[0]}" for signal in n.GPU} if reasons and all(reasons) else {}


def _cut(series: int) -> tuple[str, ...]:
    return (f"GPUs: only the {SERIES} series with the most points were looked at",) if series >= SERIES else ()


def with_faults(events: Iterable[Event], gpus: Gpus) -> tuple[Event, ...]:
    """All events in order of time."""
    events = tuple(events)
    return tuple(
        sorted([*events, *without_echoes(gpus.events, events)], key=lambda event: (event.unix_nano, event.name))
    )


def covering(coverage: Coverage, gpus: Gpus) -> Coverage:
    """Coverage that says what GPUs are tied by, and what is not tied to single requests for which reason."""
    if gpus.extent is None:
        return coverage
    measured = [f"{signal}: {reason}" for signal, reason in gpus.untied.items() if signal in coverage.signals]
    return replace(
        coverage,
        messages=(*coverage.messages, *measured, *gpus.notes),
        untied=gpus.untied,
        extents={**coverage.extents, "gpu_metrics": gpus.extent},
        watched=coverage.watched | {"gpu_metrics"},
    )


def beside(series: pd.DataFrame, gpus: pd.DataFrame) -> pd.DataFrame:
    """The series frame with what the GPUs told in each stretch."""
    if gpus.empty:
        return series
    hosts = series["host"].unique() if len(series) else []
    told = gpus.assign(start=gpus.index.to_numpy(dtype=np.int64) * BUCKET_NS)
    both = series.astype({"start": np.int64}).merge(told, on="start", how="outer")
    host = hosts[0] if len(hosts) == 1 else EVERYWHERE
    return both.assign(host=host).sort_values("start", ignore_index=True)


def onto(requests: pd.DataFrame, columns: pd.DataFrame) -> pd.DataFrame:
    """Requests with the state of the GPUs that served them."""
    return requests if columns.empty or requests.empty else requests.join(columns, on="trace_id")
