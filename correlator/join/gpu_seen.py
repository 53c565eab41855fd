"""Which GPUs and which serving engines telemetry speaks of: every series of GPU metrics, and the GPU it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from correlator.join.aliases import MetricAlias
from correlator.join.connect import Attributes, Groups, Said, said
from correlator.join.gpu_names import by_id, identity, ids
from correlator.join.points import aliased, meant
from correlator.join.within import RECORDED, Within, during, told_last
from correlator.store import Store

SERIES, ENGINES = 20_000, 200
"""Series of GPU metrics, and sources of engine metrics, that are looked at; those with the most points come first."""
ENGINE = "^(vllm|sglang|tgi|trtllm|nv_inference)[:_]"
_KINDS = {"gauge": "'level'", "sum": "if(IsMonotonic, 'counter', 'level')"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One series of GPU metrics: what it means, the device it tells of, and the device that one is a part of."""

    series: int
    name: str
    shape: str
    attributes: Attributes
    meanings: tuple[MetricAlias, ...]
    device: str
    whole: str
    points: int
    start: int
    end: int


def seen(store: Store, names: Iterable[str], within: Within = None) -> tuple[Seen, ...]:
    """Series that mean a signal of a GPU."""
    known = aliased(names, per="gpu")
    if not known:
        return ()
    union = " UNION ALL ".join(_heads(kind, shape, during("TimeUnix", within)) for kind, shape in _KINDS.items())
    rows = store.query(f"SELECT * FROM ({union}) ORDER BY points DESC, name, series LIMIT {SERIES}", names=known)
    found = [one for row in rows.to_dict("records") if (one := _seen(row)) is not None]
    return _without_shares(_by_id(found))


def _heads(kind: str, shape: str, inside: str) -> str:
    return f"""SELECT toString(MetricName) AS name, {shape} AS shape,
        cityHash64(ResourceAttributes, Attributes) AS series,
        any(mapUpdate(ResourceAttributes, Attributes)) AS attributes, count() AS points,
        toUnixTimestamp64Nano(min(TimeUnix)) AS start, toUnixTimestamp64Nano(max(TimeUnix)) AS end
        FROM otel_metrics_{kind} WHERE MetricName IN {{names:Array(String)}} AND {RECORDED} AND {inside}
        GROUP BY name, shape, series"""


def engines(store: Store, within: Within = None) -> list[Attributes]:
    """The resources that engine metrics come from."""
    union = " UNION ALL ".join(
        f"""SELECT ResourceAttributes AS attributes, count() AS points FROM otel_metrics_{kind}
            WHERE match(MetricName, '{ENGINE}') AND {RECORDED} AND {during("TimeUnix", within)} GROUP BY attributes"""
        for kind in ("gauge", "sum")
    )
    rows = store.query(
        f"SELECT attributes, sum(points) AS n FROM ({union}) GROUP BY attributes ORDER BY n DESC LIMIT {ENGINES}"
    )
    return [dict(attributes) for attributes in rows["attributes"]]


def latest(store: Store) -> int:
    """When the last metric was told (Unix ns); 0 without any."""
    return told_last(store, {f"otel_metrics_{kind}": "TimeUnix" for kind in ("gauge", "sum")})


def devices(found: Iterable[Seen], groups: Groups) -> dict[str, Said]:
    """What each device says of itself, its part's pod and its whole's machine included."""
    told: dict[str, list[Attributes]] = {}
    for one in found:
        told.setdefault(one.device, []).append(one.attributes)
    return {device: said(groups, _distinct(attributes)) for device, attributes in sorted(told.items())}


def _distinct(told: Iterable[Attributes]) -> list[Attributes]:
    return [dict(pairs) for pairs in {tuple(sorted(attributes.items())) for attributes in told}]


def _seen(row: Mapping[str, object]) -> Seen | None:
    """The series, unless its labels say that it is of no GPU."""
    attributes, name = dict(row["attributes"]), str(row["name"])  # type: ignore[call-overload]
    meanings = _meanings(name, str(row["shape"]), attributes)
    if not meanings:
        return None
    device, whole = identity(attributes)
    return Seen(
        series=int(str(row["series"])),
        name=name,
        shape=_shape(meanings[0]),
        attributes=attributes,
        meanings=meanings,
        device=device,
        whole=whole,
        points=int(str(row["points"])),
        start=int(str(row["start"])),
        end=int(str(row["end"])),
    )


def _meanings(name: str, shape: str, attributes: Attributes) -> tuple[MetricAlias, ...]:
    """DCGM's fields keep their kind, whatever a type line says: exporters call some rates counters."""
    shapes = ("level", "counter") if name.startswith("DCGM_FI_") else (shape,)
    return tuple(alias for kind in shapes for alias in meant(name, kind, attributes, per="gpu"))


def _shape(alias: MetricAlias) -> str:
    return "counter" if alias.how == "rate" else "level"


def _by_id(found: Sequence[Seen]) -> list[Seen]:
    """One name a GPU, where some series tell its id and others only its number."""
    known = ids(one.attributes for one in found)
    named = [by_id(one.attributes, one.device, one.whole, known) for one in found]
    return [replace(one, device=device, whole=whole) for one, (device, whole) in zip(found, named, strict=True)]


def _without_shares(found: Iterable[Seen]) -> tuple[Seen, ...]:
    """Without a pod's own share of a shared GPU, where the exporter repeats a metric for each pod beside the whole."""
    found = tuple(found)
    whole = {(one.name, one.device) for one in found if not _pod(one)}
    return tuple(one for one in found if not _pod(one) or (one.name, one.device) not in whole)


def _pod(one: Seen) -> str:
    attributes = one.attributes if one.name.startswith("DCGM_FI_") else {}
    return attributes.get("exported_pod") or attributes.get("pod") or ""
