"""Who is hit: only what changed, all alike, or the values of one attribute that carry most of the symptom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd

from correlator.model.effects import MIN_BLOCKS, Effect, difference, periods, ratio
from correlator.model.evidence import BASELINE, INCIDENT, Evidence, Kind
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ERROR, LATENCY, SERVICE_ERROR, SERVICE_TIME, Signal
from correlator.model.services import LOGGED, TROUBLES, accountable, deviations
from correlator.model.worth import ERROR_SHARE, LATENCY_RATIO, QUALITY_SHARE, SPARED_RATIO
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._frames import frame_with, too_few_blocks, untestable

MOST = 0.8
PART = 0.6
MIN_REQUESTS = 10
GROUPS = 50
"""Groups compared; further ones would only add chances of an accidental difference."""
SERVICE = "service.name"
OF_A_SERVICE = frozenset(trouble.signal for trouble in (*TROUBLES, LOGGED))
SMALLEST_SHARE = {Kind.ERRORS: ERROR_SHARE, Kind.AVAILABILITY: ERROR_SHARE, Kind.QUALITY: QUALITY_SHARE}
"""The smallest share of requests, more than before, that is called a symptom of the kind."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """How a symptom is measured on a group of requests: below `spared` it is spared, above `symptom` it is ill."""

    signal: Signal
    spared: float
    symptom: float

    def of(self, rows: pd.DataFrame) -> Effect | None:
        """A ratio of means; of shares, which may start at zero, the difference."""
        compare = ratio if self.signal is LATENCY else difference
        return compare(rows, self.signal.name)


def yardstick(evidence: Evidence) -> Yardstick:
    """That of the symptom, if it is a share of requests; otherwise latency's."""
    symptom = evidence.symptom
    if symptom is None or symptom.kind not in SMALLEST_SHARE:
        return Yardstick(LATENCY, SPARED_RATIO, LATENCY_RATIO)
    smallest = SMALLEST_SHARE[symptom.kind]
    return Yardstick(symptom.signal, smallest / 2, smallest)


def confined_to_changed(prefix: str = "attribute.service.") -> Test:
    """Only requests served by what changed got worse; others of the same time were spared."""

    def read(evidence: Evidence) -> Reading:
        measure = yardstick(evidence)
        frame = frame_with(evidence, measure.signal)
        if isinstance(frame, Reading):
            return frame
        for column in _attributes(evidence.requests, measure, prefix):
            split = _old_and_new(evidence.requests, column, measure)
            if split is not None:
                return split
        reason = "everything changed at once: nobody is left to compare with"
        return untestable(("an instance that did not change",), reason)

    return Test("only what changed is worse off", read, (LATENCY,))


def _old_and_new(rows: pd.DataFrame, column: str, measure: Yardstick) -> Reading | None:
    """Values that were there before against values that appeared with the incident.

    Only blocks in which both served count: an instance that stopped when the other began is no witness.
    """
    rows = rows[rows[column].notna()]
    before = set(rows.loc[rows["period"] == BASELINE, column])
    is_new = ~rows[column].isin(before)
    during = rows["period"] == INCIDENT
    shared = set(rows.loc[during & is_new, "block"]) & set(rows.loc[during & ~is_new, "block"])
    if len(shared) < MIN_BLOCKS:
        return None
    kept = ~during | rows["block"].isin(shared)
    old, new = (measure.of(part) for part in (rows[kept & ~is_new], rows[kept & (~during | is_new)]))
    if old is None or new is None:
        return too_few_blocks()
    spared = old.interval.value < measure.spared and new.interval.low > measure.spared
    outcome = Outcome.HELD if spared else Outcome.FAILED if old.interval.low > measure.spared else Outcome.INCONCLUSIVE
    name = column.removeprefix("attribute.")
    text = f"unchanged {name} {spelled(old.interval)}, new {spelled(new.interval)}"
    return Reading(outcome, text, new.interval, new.p_above, new.blocks)


def hits_all_alike() -> Test:
    """Whatever attribute requests are told apart by, each of its values got worse and none was spared."""

    def read(evidence: Evidence) -> Reading:
        measure = yardstick(evidence)
        if isinstance(frame := frame_with(evidence, measure.signal), Reading):
            return frame
        groups = list(islice(_groups(evidence.requests, measure), GROUPS))
        if not groups:
            return untestable(("an attribute that tells requests apart",), "nothing tells these requests apart")
        spared = [f"{name} {spelled(e.interval)}" for name, e in groups if e.interval.high < measure.symptom]
        if spared:
            return Reading(Outcome.FAILED, f"spared: {'; '.join(spared[:3])}", None, None, groups[0][1].blocks)
        alike = all(effect.interval.low > measure.spared for _, effect in groups)
        text = f"{len(groups)} groups of requests, the least affected {spelled(_least(groups).interval)}"
        return Reading(Outcome.HELD if alike else Outcome.INCONCLUSIVE, text, None, None, groups[0][1].blocks)

    return Test("it hits all requests alike, whatever they are told apart by", read, (LATENCY,))


def _groups(rows: pd.DataFrame, measure: Yardstick) -> Iterator[tuple[str, Effect]]:
    """Each attribute value that at least ten requests of either window have, with its effect."""
    compared = rows.reindex(columns=[measure.signal.name, "period", "block"])
    sides = periods(compared)
    for column in _attributes(rows, measure):
        values, names = pd.factorize(rows[column], sort=True)
        counts = [np.bincount(values[side] + 1, minlength=len(names) + 1)[1:] for side in sides]
        often = np.flatnonzero(np.min(counts, axis=0) >= MIN_REQUESTS)
        effects = [(names[i], measure.of(compared[values == i])) for i in often if len(often) > 1]
        yield from ((f"{column.removeprefix('attribute.')}={v}", e) for v, e in effects if e is not None)


def _attributes(rows: pd.DataFrame, measure: Yardstick, prefix: str = "attribute.") -> list[str]:
    """Columns that tell requests apart; none where the yardstick was not measured of single requests."""
    return [c for c in rows.columns if c.startswith(prefix)] if measure.signal.name in rows else []


def _least(groups: list[tuple[str, Effect]]) -> Effect:
    return min((effect for _, effect in groups), key=lambda effect: effect.interval.low)


def scope_of(evidence: Evidence) -> dict[str, str]:
    """Attribute → value for each attribute that confines the symptom; empty when everybody is hit alike. The service is
    the one in which it arises, whoever else waits for it."""
    symptom, measure = evidence.symptom, yardstick(evidence)
    found = _service(evidence)
    if symptom is None or symptom.signal is not measure.signal or measure.signal.name not in evidence.requests:
        return found
    rows = evidence.requests
    for column in (c for c in rows.columns if c.startswith("attribute.")):
        value = _confining(rows, column, measure)
        if value is not None:
            found[column.removeprefix("attribute.")] = value
    return found


def _service(evidence: Evidence) -> dict[str, str]:
    """The service whose own time, or own errors, are most of what was added; or that is alone in being worse.

    Metrics cannot tell who waits for whom: of several the one that is most clearly worse.
    """
    symptom = evidence.symptom
    if symptom is None:
        return {}
    if symptom.signal in OF_A_SERVICE:
        return {SERVICE: symptom.where}
    part = {LATENCY: SERVICE_TIME, ERROR: SERVICE_ERROR}.get(symptom.signal)
    found = accountable(evidence, symptom.signal, part) if part is not None else None
    if found is not None:
        return {SERVICE: found[0]}
    worse = [d.service for d in deviations(evidence) if d.trouble.kind == symptom.kind]
    clear = worse and (len(set(worse)) == 1 or evidence.requests.empty)
    return {SERVICE: worse[0]} if clear else {}


def _confining(rows: pd.DataFrame, column: str, measure: Yardstick) -> str | None:
    name = measure.signal.name
    told = (rows[column].notna() & rows[name].notna() & (rows["period"] != "")).to_numpy()
    known = rows[[column, name, "period", "block"]][told]
    base = known[known["period"] == BASELINE].groupby(column)[name].mean()
    incident = known[known["period"] == INCIDENT]
    incident = incident[incident[column].isin(base.index)]
    if incident.empty or len(base) < 2:
        return None
    excess = (incident[name] - incident[column].map(base)).groupby(incident[column]).sum()
    if excess.sum() <= 0:
        return None
    top = excess.idxmax()
    hit = incident[column] == top
    if excess[top] < MOST * excess.sum() or hit.mean() > PART or hit.sum() < MIN_REQUESTS:
        return None
    others = measure.of(known[known[column] != top])
    return str(top) if others is not None and others.interval.value < measure.spared else None
