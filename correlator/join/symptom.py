"""What got worse between two windows, if anything did beyond noise.

A symptom has a kind and a statistic. It is named when its interval excludes "no change" and its size reaches
the smallest effect worth naming; of several, the one largest against that yardstick is the symptom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np
import pandas as pd

from correlator.join.client_run import tail
from correlator.join.engine_down import outages
from correlator.model import names as n
from correlator.model.effects import TAIL, Effect, difference, ratio
from correlator.model.evidence import BASELINE, INCIDENT, KEYS, Evidence, Interval, Kind, Symptom
from correlator.model.worth import ERROR_SHARE, LATENCY_RATIO, LOST_SHARE, QUALITY_SHARE

TAIL_RATIO = 1.6
"""The 95th percentile drifts more than the mean: the square of 1.3, rounded down."""
THROUGHPUT_RATIO = 1.3
FIRST_TOKEN_S = 1.0
"""A second without a sign interrupts a user's train of thought (Nielsen 1993)."""
DISTANCE = 0.05
"""In reports a right document lay 0.12 above its distractors where search worked and 0.03 where it did not."""
SHORTFALL = 0.1
"""Half a mark of five, as a share: judges who mark the same answer twice differ by less than a whole one."""
DOWN_SHARE = 0.9
"""An error share from which the service counts as not available at all."""
ASKED = {Kind.AVAILABILITY: (Kind.ERRORS, Kind.AVAILABILITY)}
"""In which kinds of candidates a kind is looked for, where not in itself alone."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to be worse: a signal, a statistic, and the smallest effect worth naming."""

    kind: Kind
    signal: n.Signal
    statistic: str
    smallest: float
    relative: bool
    falls: bool = False
    unless: n.Signal | None = None
    """Not asked where this signal was measured, which says the same of the whole request."""


CANDIDATES = (
    Candidate(Kind.LATENCY, n.LATENCY, "mean", LATENCY_RATIO, relative=True),
    Candidate(Kind.ERRORS, n.ERROR, "mean", ERROR_SHARE, relative=False),
    Candidate(Kind.QUALITY, n.EMPTY_RETRIEVAL, "mean", QUALITY_SHARE, relative=False),
    Candidate(Kind.QUALITY, n.TRUNCATED, "mean", 2 * QUALITY_SHARE, relative=False),
    Candidate(Kind.LATENCY, n.LATENCY, "p95", TAIL_RATIO, relative=True),
    Candidate(Kind.THROUGHPUT, n.GENERATION_THROUGHPUT, "mean", THROUGHPUT_RATIO, relative=True, falls=True),
    Candidate(Kind.LATENCY, n.TIME_PER_OUTPUT_TOKEN, "mean", LATENCY_RATIO, relative=True, unless=n.LATENCY),
    Candidate(Kind.AVAILABILITY, n.ENGINE_DOWN, "mean", ERROR_SHARE, relative=False, unless=n.ERROR),
    Candidate(Kind.LATENCY, n.FIRST_TOKEN_HELD, "mean", FIRST_TOKEN_S, relative=False),
    Candidate(Kind.QUALITY, n.RETRIEVAL_DISTANCE, "mean", DISTANCE, relative=False),
    Candidate(Kind.QUALITY, n.DEGENERATE, "mean", QUALITY_SHARE, relative=False),
    Candidate(Kind.QUALITY, n.ANSWER_SHORTFALL, "mean", SHORTFALL, relative=False),
)
CLIENT_TAIL = Candidate(Kind.LATENCY, n.TIME_PER_OUTPUT_TOKEN, "p99", TAIL_RATIO, relative=True, unless=n.LATENCY)
"""As a load generator sums it up for a whole run: where nobody measured single requests, the only tail there is."""


LOSSES = tuple(
    Candidate(Kind.TELEMETRY, signal, "mean", LOST_SHARE, relative=False)
    for signal in (n.TELEMETRY_LOST, n.TELEMETRY_REFUSED)
)
"""Looked at last: of a service that got worse as well, that is the symptom."""


READ = frozenset(c.signal.name for c in (*CANDIDATES, CLIENT_TAIL, *LOSSES)) | {
    s.name for s in (n.ARRIVAL_RATE, n.WAITING, n.RUNNING)
}


def measured(evidence: Evidence) -> Evidence:
    """Only what a symptom is told by: cheap to look at with many windows."""
    frames = [
        frame[[c for c in frame if c in KEYS or c.removeprefix("n.") in READ]]
        for frame in (evidence.requests, evidence.series)
    ]
    return replace(evidence, requests=frames[0], series=frames[1])


def find_symptom(evidence: Evidence, kind: Kind | None = None, tests: int = 1) -> Symptom | None:
    """The symptom between the windows of `evidence`, of `kind` if given; None when nothing stands out.

    `tests` is how many pairs of windows were tried (Bonferroni). With a kind given by the user its largest
    change is reported even where it is within noise: the interval says so. Availability is looked for in the errors,
    and in what the engine's log tells. Without a symptom of the service, that its telemetry is lost is one.
    """
    return of_service(evidence, kind, tests) or still_down(evidence, kind) or of_telemetry(evidence, kind, tests)


def of_service(evidence: Evidence, kind: Kind | None = None, tests: int = 1) -> Symptom | None:
    """The symptom that was measured of the service."""
    level = TAIL / tests
    return _largest([*_scored(evidence, CANDIDATES, kind, level), *_of_the_client(evidence, kind, level)])


def of_telemetry(evidence: Evidence, kind: Kind | None = None, tests: int = 1) -> Symptom | None:
    """That telemetry is lost: what is known of the service may then be wrong, however well it looks."""
    return _largest(_scored(evidence, LOSSES, kind, TAIL / tests))


def still_down(evidence: Evidence, kind: Kind | None = None) -> Symptom | None:
    """What events alone tell: an engine died in the incident, or failed to start, and was not ready by its end.

    No effect with an interval: a log may end with the death, and before a first start nothing was there to compare.
    The values are states, not samples: none had failed before, and none was ready since. Only where no request is
    known: they would tell whether anybody missed the engine.
    """
    windows = evidence.windows
    if windows is None or len(evidence.requests) or kind not in (None, Kind.AVAILABILITY):
        return None
    base, incident = windows.baseline, windows.incident
    known = evidence.series.loc[evidence.series["start"] < incident.end]
    down = [outage for outage in outages(known) if outage.end > base.start]
    if not down or down[0].start < base.end or down[-1].end <= _last_known(known):
        return None
    change = Interval(1.0, 1.0, 1.0, "")
    where = _where(evidence.requests)
    return Symptom(Kind.AVAILABILITY, where, n.ENGINE_DOWN, "mean", incident.start, 0.0, 1.0, change)


def _last_known(series: pd.DataFrame) -> int:
    """Start of the last bucket in which the engine's state is known."""
    return int(series.loc[series[n.ENGINE_DOWN.name].notna(), "start"].max())


def _largest(scored: Iterable[tuple[float, Symptom]]) -> Symptom | None:
    found = max(scored, key=lambda pair: pair[0], default=None)
    return found[1] if found else None


def _scored(
    evidence: Evidence, candidates: Iterable[Candidate], kind: Kind | None, level: float
) -> Iterator[tuple[float, Symptom]]:
    for candidate in candidates:
        if kind is not None and candidate.kind not in ASKED.get(kind, (kind,)):
            continue
        if candidate.unless is not None and _is_measured(evidence, candidate.unless):
            continue
        frame, weight = source(evidence, candidate.signal)
        if frame is None:
            continue
        measure: Callable[..., Effect | None] = ratio if candidate.relative else difference
        effect = measure(frame, candidate.signal.name, candidate.statistic, weight)
        if effect is None or (candidate.falls and not _demand_held(evidence)):
            continue
        p = effect.p_below if candidate.falls else effect.p_above
        severity = _severity(candidate, effect.interval)
        if kind is not None or (p <= level and severity >= 1.0):
            yield severity, _symptom(evidence, candidate, frame, weight, effect.interval)


def _is_measured(evidence: Evidence, signal: n.Signal) -> bool:
    return any(signal.name in columns for columns in evidence.compared)


def _of_the_client(evidence: Evidence, kind: Kind | None, level: float) -> Iterator[tuple[float, Symptom]]:
    """The tail that a load generator reports, of two runs."""
    if kind not in (None, Kind.LATENCY) or _is_measured(evidence, n.LATENCY) or evidence.windows is None:
        return
    found = tail(evidence, CLIENT_TAIL.signal)
    if found is None:
        return
    severity = _severity(CLIENT_TAIL, found.change)
    if kind is not None or (found.p_above <= level and severity >= 1.0):
        yield (
            severity,
            Symptom(
                kind=CLIENT_TAIL.kind,
                where=_where(evidence.requests),
                signal=CLIENT_TAIL.signal,
                statistic=CLIENT_TAIL.statistic,
                onset=evidence.windows.incident.start,
                baseline_value=found.baseline,
                incident_value=found.incident,
                change=found.change,
            ),
        )


def source(evidence: Evidence, signal: n.Signal) -> tuple[pd.DataFrame | None, str | None]:
    """The finest frame that has the signal in both windows, and its weight column if it has one."""
    requests, series = evidence.compared
    if signal.name in requests:
        return (evidence.answered if signal is n.LATENCY else evidence.numbers)[0], None
    if signal.name in series:
        weight = f"n.{signal.name}"
        return evidence.numbers[1], weight if weight in series else None
    return None, None


def _severity(candidate: Candidate, interval: Interval) -> float:
    if not candidate.relative:
        return interval.value / candidate.smallest
    size = log(max(interval.value, 1e-9)) / log(candidate.smallest)
    return -size if candidate.falls else size


def least_severity(symptom: Symptom) -> float:
    """Size against the smallest effect worth naming, at the end of the interval that is nearest to none."""
    candidate = next(
        c
        for c in (*CANDIDATES, CLIENT_TAIL, *LOSSES)
        if c.signal is symptom.signal and c.statistic == symptom.statistic
    )
    nearest = symptom.change.high if candidate.falls else symptom.change.low
    return _severity(candidate, replace(symptom.change, value=nearest))


def _demand_held(evidence: Evidence) -> bool:
    """Throughput that fell because fewer requests came is not a symptom: arrivals held, or some waited, or as many ran
    as before (by Little's law each then takes longer)."""
    waiting = evidence.series.get(n.WAITING.name)
    if waiting is not None:
        queued = waiting[evidence.series["period"] == INCIDENT].dropna() > 0
        if queued.mean() >= 0.5:
            return True
    running = ratio(evidence.series, n.RUNNING.name) if n.RUNNING.name in evidence.series else None
    if running is not None and running.interval.value >= 0.9 and running.interval.low > 1 / THROUGHPUT_RATIO:
        return True
    if n.ARRIVAL_RATE.name not in evidence.requests:
        return False
    arrivals = ratio(evidence.series, n.ARRIVAL_RATE.name)
    return arrivals is not None and arrivals.interval.value >= 0.9


def _symptom(
    evidence: Evidence, candidate: Candidate, frame: pd.DataFrame, weight: str | None, change: Interval
) -> Symptom:
    assert evidence.windows is not None
    values = [_value(frame, frame["period"] == period, candidate, weight) for period in (BASELINE, INCIDENT)]
    down = candidate.kind is Kind.ERRORS and values[1] >= DOWN_SHARE
    return Symptom(
        kind=Kind.AVAILABILITY if down else candidate.kind,
        where=_where(evidence.requests),
        signal=candidate.signal,
        statistic=candidate.statistic,
        onset=evidence.windows.incident.start,
        baseline_value=values[0],
        incident_value=values[1],
        change=change,
    )


def _value(frame: pd.DataFrame, rows: pd.Series, candidate: Candidate, weight: str | None) -> float:
    column = frame[candidate.signal.name].to_numpy(dtype=float)
    known = rows.to_numpy() & ~np.isnan(column)
    if candidate.statistic == "p95":
        return float(np.quantile(column[known], 0.95))
    mass = frame[weight].to_numpy(dtype=float)[known] if weight else np.ones(known.sum())
    return float(np.nansum(column[known] * mass) / np.nansum(mass))


def _where(requests: pd.DataFrame) -> str:
    if "service" not in requests or requests["service"].isna().all():
        return "serving engine"
    codes, names = pd.factorize(requests["service"].dropna(), sort=True)
    return str(names[np.bincount(codes).argmax()]) or "unnamed service"
