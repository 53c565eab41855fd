"""The alias file read into lookups: span attribute → signal, metric name → how to turn it into a signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class MetricAlias:
    """One metric that means `signal`; `rank` orders aliases of a signal, 0 preferred."""

    signal: str
    name: str
    how: str
    rank: int
    scale: float = 1.0
    across: str = "mean"
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
            name=m["name"],
            how=m["how"],
            rank=rank,
            scale=float(m.get("scale", 1.0)),
            across=m.get("across", "mean"),
            where={k: tuple(v) for k, v in m.get("where", {}).items()},
        )
        for signal, entry in _file().items()
        for rank, m in enumerate(entry.get("metrics", ()))
    )


@lru_cache(maxsize=1)
def _file() -> dict[str, dict[str, Any]]:
    text = files("configs").joinpath("signals.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return loaded
