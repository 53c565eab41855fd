"""What each service does by itself: which one deviates from before, and which accounts for a symptom of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import log

import numpy as np
import pandas as pd

from correlator.model.effects import (
    TAIL,
    Bools,
    Codes,
    Effect,
    Floats,
    against_history,
    difference,
    periods,
    ratio,
    share_of_change,
)
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.names import SERVICE_ERROR, SERVICE_LATENCY, SERVICE_LOGGED, SERVICE_TIME, Signal
from correlator.model.periods import Kind
from correlator.model.worth import ERROR_SHARE, PICKED_RATIO, QUALITY_SHARE

MOST = 100
"""Services compared, the busiest; each further one asks more of all."""
MATERIAL = 0.05
"""What a service takes longer, over the whole time of the requests that visit it: one part in twenty is not felt."""
ACCOUNTS = 0.5
"""Whoever accounts for more than half has no equal."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way in which a service can be worse by itself, and the smallest change worth naming."""

    kind: Kind
    signal: Signal
    smallest: float
    relative: bool

    def near(self, effect: Effect) -> float:
        """Size over the smallest worth naming, at the end of the interval that is nearest to none."""
        low = effect.interval.low
        return log(max(low, 1e-9)) / log(self.smallest) if self.relative else low / self.smallest


TROUBLES = (
    Trouble(Kind.LATENCY, SERVICE_TIME, PICKED_RATIO, relative=True),
    Trouble(Kind.LATENCY, SERVICE_LATENCY, PICKED_RATIO, relative=True),
    Trouble(Kind.ERRORS, SERVICE_ERROR, ERROR_SHARE, relative=False),
)
LOGGED = Trouble(Kind.ERRORS, SERVICE_LOGGED, QUALITY_SHARE, relative=False)
"""Not every logged error failed a request, so more of them is asked, and whatever was measured goes first."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A service that is worse than before, beyond noise and by enough to be named."""

    service: str
    trouble: Trouble
    effect: Effect
    before: float
    after: float
    whole: float
    """Mean seconds of the incident's requests that visit it, 0 where unknown."""

    @property
    def is_worth_naming(self) -> bool:
        """It is large enough even at the near end of its interval, as one of many asks; a time is also felt by those
        who wait for it."""
        felt = self.trouble.signal is not SERVICE_TIME or self.after - self.before >= MATERIAL * self.whole
        return felt and self.trouble.near(self.effect) >= 1.0


def deviations(evidence: Evidence, troubles: Iterable[Trouble] = TROUBLES, tests: int = 1) -> list[Deviation]:
    """Services that got worse, the clearest first. `tests`: how many pairs of windows were tried (Bonferroni, as are
    the services and the ways to be worse)."""
    rows = evidence.by_service
    compared = [found for trouble in troubles if trouble.signal.name in rows for found in _compared(rows, trouble)]
    level = TAIL / max(len(compared) * tests, 1)
    worse = [d for d in compared if d.effect.p_above <= level and d.is_worth_naming]
    return sorted(worse, key=lambda d: (-d.trouble.near(d.effect), d.service))


def _compared(rows: pd.DataFrame, trouble: Trouble) -> Iterator[Deviation]:
    """All services that can be compared; what never varied was no trial (Bourgon et al. 2010)."""
    name = trouble.signal.name
    weight = f"n.{name}" if f"n.{name}" in rows else None
    rows = rows[rows[name].notna()]
    busiest = rows["service"].value_counts().index[:MOST]
    for service, its in rows.groupby("service", sort=True, observed=True):
        if service not in busiest or its[name].nunique() < 2:
            continue
        effect = _effect(its, trouble, weight)
        if effect is not None:
            before, after = (its[its["period"] == period] for period in (BASELINE, INCIDENT))
            values = _mean(before, name, weight), _mean(after, name, weight), float(after["whole"].mean())
            yield Deviation(str(service), trouble, effect, *values)


def _effect(rows: pd.DataFrame, trouble: Trouble, weight: str | None) -> Effect | None:
    """Held against the service's own history where there is one: that knows how it varies when nothing is wrong."""
    name = trouble.signal.name
    found = against_history(rows, name, trouble.relative, weight)
    if found is not None:
        return found
    return ratio(rows, name, "mean", weight) if trouble.relative else difference(rows, name, "mean", weight)


def _mean(rows: pd.DataFrame, name: str, weight: str | None) -> float:
    return float(np.average(rows[name], weights=rows[weight] if weight else None))


def accountable(evidence: Evidence, whole: Signal, part: Signal) -> tuple[str, Effect] | None:
    """The service whose `part` makes up most of what was added to `whole` of all requests, with its share.

    Requests are compared with those of the baseline that visit the same services, so that a shift among kinds of
    requests adds nothing to anybody.
    """
    rows = evidence.by_service
    if part.name not in rows or whole.name not in evidence.compared[0]:
        return None
    requests = (evidence.answered if whole.unit == "s" else evidence.numbers)[0]
    rows = rows[rows[part.name].notna() & (rows["trace_id"] != "")]
    at = _places(requests, rows)
    services, names = pd.factorize(rows["service"], sort=True)
    here = at >= 0
    at, services, values = at[here], services[here], rows[part.name].to_numpy(dtype=float)[here]
    base, incident = periods(requests)
    kinds = _kinds(at, services, len(requests))
    usual = _usual(kinds, base)
    total = _less(usual, requests[whole.name].to_numpy(dtype=float))
    known = incident & ~np.isnan(total)
    if not known.any():
        return None
    visited = [services == number for number in range(len(names))]
    added = [_less(usual, np.bincount(at[its], values[its], len(requests)).astype(float)) for its in visited]
    top = int(np.argmax([own[known].sum() for own in added]))
    found = share_of_change(requests, added[top], total)
    return (str(names[top]), found) if found is not None and found.interval.low >= ACCOUNTS else None


def _less(usual: Callable[[Floats], Floats], column: Floats) -> Floats:
    return column - usual(column)


def _places(requests: pd.DataFrame, rows: pd.DataFrame) -> Codes:
    """For each row the number of its request, -1 without one. A trace that two bundles have in common is in each."""
    first, others = (frame["trace_id"].astype(str) + "@" + frame["period"].astype(str) for frame in (requests, rows))
    known = pd.Series(np.arange(len(first)), index=first.to_numpy())
    known = known[~known.index.duplicated()]
    found = known.index.get_indexer(others)
    return np.where(found >= 0, known.to_numpy()[found], -1)


def _kinds(at: Codes, services: Codes, requests: int) -> Codes:
    """A number for each request, the same for those that visit the same services."""
    marks = np.random.default_rng(0).integers(1, 2**31, int(services.max(initial=0)) + 1)
    seen = np.zeros(requests, dtype=np.int64)
    np.add.at(seen, at, marks[services])
    return np.unique(seen, return_inverse=True)[1]


def _usual(kinds: Codes, base: Bools) -> Callable[[Floats], Floats]:
    """For a column the baseline's mean of each row's kind; unknown for kinds that the baseline has not."""

    def means(column: Floats) -> Floats:
        rows = base & ~np.isnan(column)
        count = np.bincount(kinds[rows], minlength=kinds.max() + 1)
        total = np.bincount(kinds[rows], column[rows], minlength=kinds.max() + 1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)[kinds]

    return means
