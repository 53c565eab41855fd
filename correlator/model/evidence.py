"""Evidence: everything joined that a hypothesis may look at. Read-only by convention; pandas frames inside.

`requests` has one row a trace: `trace_id`, `start` (Unix ns), `host`, canonical signals, ledger parts.
`series` has one row a (host, time bucket): `start`, `host`, canonical signals. Both carry `period`
("baseline", "incident" or "") and `block`: one host and one stretch of time, the unit that counts.
`services` has one row a trace and service that it visits, and one a stretch of time and service that tells metrics of
itself (`trace_id` is "" there); it is empty where there is only one service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from correlator.model.names import ERROR, Signal
from correlator.model.periods import Kind, Window, Windows

__all__ = [
    "BASELINE",
    "BLOCK_NS",
    "INCIDENT",
    "KEYS",
    "METRICS",
    "Coverage",
    "Event",
    "Evidence",
    "Fact",
    "Interval",
    "Kind",
    "Symptom",
    "Window",
    "Windows",
    "with_windows",
    "without_windows",
]

BASELINE, INCIDENT = "baseline", "incident"
KEYS = frozenset({"start", "end", "trace_id", "host", "service", "period", "block"})
"""Columns that say which row it is, not what was measured."""
BLOCK_NS = 10_000_000_000
"""A block is 10 s of one host (DESIGN 1): requests in it shared their circumstances."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 90 % interval (5 % on each side: claims have a direction)."""

    value: float
    low: float
    high: float
    unit: str = "ratio"


@dataclass(frozen=True, slots=True)
class Symptom:
    """What is to be explained: `signal` compared by `statistic` between the two windows."""

    kind: Kind
    where: str
    signal: Signal
    statistic: str
    onset: int
    baseline_value: float
    incident_value: float
    change: Interval


@dataclass(frozen=True, slots=True)
class Event:
    """A recognised happening (names in `names.Events`)."""

    name: str
    unix_nano: int
    resource: str = ""
    trace_id: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


METRICS = "engine metrics"
"""The resource of facts that an info metric shows."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A configuration value or version, as seen at a time on a resource.

    On METRICS it has been in force for longer than it was seen; a log told it when it came into force.
    """

    name: str
    value: str
    unix_nano: int
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the evidence stands on: records read, signals seen and at what interval, what was lost.

    `signals` maps a canonical name to {"sources": [...], "interval_s": float|None, "rows": int};
    `extents` says from when to when each kind of source ("engine_log", "engine_metrics", "traces", …) was
    recorded; `watched` names those that were in both windows: only they can show that something did *not*
    happen. `losses_known`: `problems` counts everything that was refused on the way, so zero of them means none.
    `outages`: stretches in which nobody was there to receive. `untied`: by signal of the system's state, why single
    requests do not have it.
    """

    records: Mapping[str, int] = field(default_factory=dict)
    signals: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    watched: frozenset[str] = frozenset()
    extents: Mapping[str, Window] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)
    losses_known: bool = True
    outages: tuple[Window, ...] = ()
    messages: tuple[str, ...] = ()
    untied: Mapping[str, str] = field(default_factory=dict)
    orphan_share: float = 0.0
    sampled_traces: int | None = None
    clock_skew_s: float | None = None


@dataclass(frozen=True)
class Evidence:
    """A joined pair of windows."""

    requests: pd.DataFrame
    series: pd.DataFrame
    events: tuple[Event, ...] = ()
    facts: tuple[Fact, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    windows: Windows | None = None
    symptom: Symptom | None = None
    services: pd.DataFrame = field(default_factory=pd.DataFrame)

    @cached_property
    def by_service(self) -> pd.DataFrame:
        """`services` of the requests at hand, marked like these with `period` and `block`."""
        if self.windows is None or self.services.empty:
            return pd.DataFrame()
        traced = self.services["trace_id"]
        known = (traced == "") | traced.isin(self.requests.get("trace_id", []))
        return _marked(self.services[known].reset_index(drop=True), self.windows)

    @cached_property
    def compared(self) -> tuple[frozenset[str], frozenset[str]]:
        """Signals of `requests` and of `series` that have values in both windows."""
        requests, series = self.numbers
        return _compared(requests), _compared(series)

    @cached_property
    def memo(self) -> dict[object, Any]:
        """What was worked out of this evidence already, by whoever worked it out; several causes ask for the same."""
        return {}

    @cached_property
    def numbers(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """`requests` and `series` without texts and attributes: what most predictions look at, cheap to select."""
        return _numbers(self.requests), _numbers(self.series)

    @cached_property
    def answered(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """`numbers` without failed requests, unless most failed: latency is that of answers, failing fast is not
        being fast."""
        requests, series = self.numbers
        return _answered(requests), _answered(series)

    def without(self, signals: frozenset[str]) -> Evidence:
        """The same evidence as if these signals had never been measured."""
        drop = list(signals)
        return replace(
            self,
            requests=self.requests.drop(columns=drop, errors="ignore"),
            series=self.series.drop(columns=drop, errors="ignore"),
            services=self.services.drop(columns=drop, errors="ignore"),
        )

    def during(self, period: str, names: frozenset[str]) -> tuple[Event, ...]:
        """Events of these names inside a period."""
        if self.windows is None:
            return ()
        window = self.windows.baseline if period == BASELINE else self.windows.incident
        return tuple(e for e in self.events if e.name in names and window.start <= e.unix_nano < window.end)


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """What was measured, in one piece, and the keys; a frame that holds nothing else is returned as it is."""
    kinds = {c: kind for c, kind in frame.dtypes.items() if c not in KEYS}
    if all(kind == np.float64 for kind in kinds.values()):
        return frame
    measured = [c for c, kind in kinds.items() if pd.api.types.is_numeric_dtype(kind)]
    numbers = pd.DataFrame(frame[measured].to_numpy(dtype=float), columns=measured, index=frame.index)
    keys = {c: frame[c].astype(object) if frame[c].dtype == "str" else frame[c] for c in frame.columns if c in KEYS}
    return numbers.assign(**keys)


def _answered(numbers: pd.DataFrame) -> pd.DataFrame:
    if ERROR.name not in numbers:
        return numbers
    kept = ~(numbers[ERROR.name].to_numpy() > 0)
    return numbers[kept] if len(numbers) / 2 <= kept.sum() < len(numbers) else numbers


def _compared(numbers: pd.DataFrame) -> frozenset[str]:
    if numbers.empty or "period" not in numbers:
        return frozenset()
    columns = [c for c in numbers.columns if c not in KEYS]
    known = ~np.isnan(numbers[columns].to_numpy(dtype=float))
    both = np.ones(len(columns), dtype=bool)
    for period in (BASELINE, INCIDENT):
        both &= known[(numbers["period"] == period).to_numpy()].any(axis=0)
    return frozenset(c for c, present in zip(columns, both.tolist(), strict=True) if present)


def with_windows(evidence: Evidence, windows: Windows) -> Evidence:
    """Mark every row with its period; rows outside both windows get "". A row's block, once known, stays:
    who moves rows in time drops the column."""
    return replace(
        evidence,
        requests=_marked(evidence.requests, windows),
        series=_marked(evidence.series, windows),
        coverage=_watching(evidence.coverage, windows),
        windows=windows,
        symptom=None,
    )


def without_windows(evidence: Evidence) -> Evidence:
    """Every row in no period: what is joined but not yet (or never) compared."""
    nowhere = Window(0, 0)
    return replace(with_windows(evidence, Windows(nowhere, nowhere)), coverage=evidence.coverage, windows=None)


def _watching(coverage: Coverage, windows: Windows) -> Coverage:
    """Sources that began before the baseline ended and went on into the incident; none if nobody was there then."""
    if not coverage.extents:
        return coverage
    low, high = windows.baseline.end, windows.incident.start
    if any(outage.start < windows.incident.end and outage.end > high for outage in coverage.outages):
        return replace(coverage, watched=frozenset())
    watched = {name for name, seen in coverage.extents.items() if seen.start < low and seen.end > high}
    return replace(coverage, watched=frozenset(watched))


def _marked(frame: pd.DataFrame, windows: Windows) -> pd.DataFrame:
    start = frame["start"].to_numpy(dtype=np.int64)
    code = np.zeros(len(frame), dtype=np.int8)
    for i, window in enumerate((windows.baseline, windows.incident), 1):
        code[(start >= window.start) & (start < window.end)] = i
    known = "block" in frame and isinstance(frame["block"].dtype, pd.CategoricalDtype)
    return frame.assign(
        period=pd.Categorical.from_codes(code, categories=["", BASELINE, INCIDENT]),
        block=frame["block"] if known else _blocks(frame["host"], start),
    )


def _blocks(host: pd.Series, start: np.ndarray) -> pd.Categorical:
    """Each row's block, by name in order; names are made once a block."""
    hosts, index = pd.factorize(host.astype(str), sort=True)
    known = index.tolist()
    pairs, rows = np.unique(start // BLOCK_NS * max(len(known), 1) + hosts, return_inverse=True)
    names = [f"{known[pair % len(known)]}@{pair // len(known)}" for pair in pairs.tolist()]
    order = np.argsort(names)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    return pd.Categorical.from_codes(place[rows], categories=[names[i] for i in order])
