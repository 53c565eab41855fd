"""The alias file read into lookups: span attribute → signal, metric name → how to turn it into a signal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

SUFFIXES = {
    "s": {"_seconds": 1.0, "_milliseconds": 0.001},
    "By": {"_bytes": 1.0},
    "1": {"_ratio": 1.0},
    "{token}": {"_token": 1.0},
    "W": {"_watts": 1.0},
    "Cel": {"_celsius": 1.0},
}
"""By unit: what Prometheus appends to the name of an OpenTelemetry metric, and the factor to that unit."""
TOTAL = "_total"


@dataclass(frozen=True, slots=True)
class MetricAlias:
    """One metric that means `signal`, which is in `unit`; `rank` orders aliases of a signal, lowest preferred.

    `where` names labels by their values; a series with any of them is meant. Of `only` a series must have all.
    `bits`: the value is a set of bits, and means 1 where it has one of these. `per`: what it is told of, "gpu" or the
    system as a whole.
    """

    signal: str
    unit: str
    name: str
    how: str
    rank: int
    scale: float = 1.0
    across: str = "mean"
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bits: int = 0
    per: str = ""

    def means(self, labels: Mapping[str, str]) -> bool:
        """Is a series with these labels meant? A label that is missing counts as empty."""
        any_of = not self.where or any(labels.get(key, "") in values for key, values in self.where.items())
        return any_of and all(labels.get(key, "") in values for key, values in self.only.items())


def folded(name: str) -> str:
    """The spelling in which OpenTelemetry and Prometheus agree: `.`, `:` and `-` become `_`."""
    return name.replace(".", "_").replace(":", "_").replace("-", "_")


@lru_cache(maxsize=1)
def span_attributes() -> dict[str, tuple[str, ...]]:
    """Canonical signal → span attributes that carry it, most preferred first."""
    return {s: tuple(entry["span_attributes"]) for s, entry in _file().items() if "span_attributes" in entry}


@lru_cache(maxsize=1)
def metrics() -> tuple[MetricAlias, ...]:
    """Every metric alias of the file."""
    return tuple(
        MetricAlias(
            signal=signal,
            unit=entry["unit"],
            name=m["name"],
            how=m["how"],
            rank=rank,
            scale=float(m.get("scale", 1.0)),
            across=m.get("across", "mean"),
            where={k: tuple(v) for k, v in m.get("where", {}).items()},
            only={k: tuple(v) for k, v in m.get("only", {}).items()},
            bits=m.get("bits", 0),
            per=entry.get("per", ""),
        )
        for signal, entry in _file().items()
        for rank, m in enumerate(entry.get("metrics", ()))
    )


@lru_cache(maxsize=1)
def spelled() -> dict[str, tuple[MetricAlias, ...]]:
    """Folded metric name → what it may mean, with the scale of that spelling; ranks differ by spelling too."""
    out: dict[str, list[MetricAlias]] = {}
    every = ((alias, name, scale) for alias in metrics() for name, scale in spellings(alias))
    for rank, (alias, name, scale) in enumerate(every):
        out.setdefault(name, []).append(replace(alias, name=name, scale=scale, rank=rank))
    return {name: tuple(aliases) for name, aliases in out.items()}


def spellings(alias: MetricAlias) -> Iterator[tuple[str, float]]:
    """Folded names the metric goes by, and the scale of each: a suffix tells the unit, whatever the alias says."""
    counted = alias.how == "rate"
    stem = folded(alias.name).removesuffix(TOTAL) if counted else folded(alias.name)
    names = {stem: alias.scale} | {stem + s: factor for s, factor in SUFFIXES.get(_measured(alias), {}).items()}
    for name, scale in names.items():
        yield name, scale
        if counted:
            yield name + TOTAL, scale


def _measured(alias: MetricAlias) -> str:
    """The unit of what is counted, where the signal is its rate."""
    if alias.how != "rate":
        return alias.unit
    return "s" if alias.unit == "1" else alias.unit.removesuffix("/s")


@lru_cache(maxsize=1)
def _file() -> dict[str, dict[str, Any]]:
    text = files("configs").joinpath("signals.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, Any]] = yaml.load(text, yaml.CSafeLoader)
    return loaded
