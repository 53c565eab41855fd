"""Predictions about things that happened, configuration that changed, and who was hit."""

from __future__ import annotations

import pandas as pd

from correlator.model.effects import ratio
from correlator.model.evidence import BASELINE, INCIDENT, Event, Evidence, Fact
from correlator.model.findings import Outcome, Reading
from correlator.model.names import LATENCY
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._frames import frame_with, too_few_blocks, untestable

CHANGED_SMALLEST = 1.15


def occurs(*events: str, seen_by: frozenset[str], often: bool = True) -> Test:
    """One of these events happened in the incident or between the windows.

    `often`: more often than in the baseline; a start or a deploy counts by itself (`often=False`).
    `seen_by` are the kinds of source (Coverage.watched) that would have shown it; without any of them the
    absence of the event means nothing.
    """
    names = frozenset(events)
    text = " or ".join(events)

    def read(evidence: Evidence) -> Reading:
        during = _from_baseline_end(evidence, names)
        before = evidence.during(BASELINE, names)
        if len(during) > (len(before) if often else 0):
            traces = tuple(dict.fromkeys(e.trace_id for e in during if e.trace_id))[:3]
            return Reading(
                Outcome.HELD,
                f"{text}: {len(during)} since the baseline, {len(before)} in it",
                trace_ids=traces,
            )
        if not seen_by & evidence.coverage.watched:
            return untestable(tuple(sorted(seen_by)), f"no source that would show {text}")
        return Reading(Outcome.FAILED, f"{text}: {len(during)} since the baseline, {len(before)} in it")

    return Test(f"{text} happened after the baseline", read)


def _from_baseline_end(evidence: Evidence, names: frozenset[str]) -> list[Event]:
    if evidence.windows is None:
        return []
    low, high = evidence.windows.baseline.end, evidence.windows.incident.end
    return [e for e in evidence.events if e.name in names and low <= e.unix_nano < high]


def changed(*facts: str, kind: str = "configuration") -> Test:
    """One of these facts had another value in the incident than in the baseline.

    A start-up log that names only what differs from the defaults counts: a flag absent at one start and
    present at the next has changed.
    """

    def read(evidence: Evidence) -> Reading:
        before, after = in_force(evidence, facts)
        started = in_force(evidence, ("engine.version",))
        known = {f for f in facts if f in before and f in after}
        if started[0] and started[1] and any(f in before or f in after for f in facts):
            known |= {f for f in facts if f in before or f in after}
        if not known:
            return untestable(facts, f"{kind} not seen in both windows ({', '.join(facts)})")
        different = sorted(f for f in known if before.get(f) != after.get(f))
        if not different:
            return Reading(Outcome.FAILED, f"unchanged: {', '.join(f'{f}={after[f]}' for f in sorted(known))}")
        return Reading(
            Outcome.HELD,
            "; ".join(f"{f}: {before.get(f, 'default')} → {after.get(f, 'default')}" for f in different),
        )

    return Test(f"{kind} changed ({', '.join(facts)})", read)


def in_force(evidence: Evidence, names: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Values of facts at the end of the baseline and at the end of the incident."""
    if evidence.windows is None:
        return {}, {}
    wanted = [f for f in evidence.facts if f.name in names]
    return _at(wanted, evidence.windows.baseline.end), _at(wanted, evidence.windows.incident.end)


def _at(facts: list[Fact], moment: int) -> dict[str, str]:
    out: dict[str, str] = {}
    for fact in facts:
        if fact.unix_nano < moment:
            out[fact.name] = fact.value
    return out


def confined_to_changed(prefix: str = "attribute.service.") -> Test:
    """Only requests served by what changed got slower; others of the same time were spared."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, LATENCY)
        if isinstance(frame, Reading):
            return frame
        for column in (c for c in evidence.requests.columns if c.startswith(prefix)):
            split = _old_and_new(evidence.requests, column)
            if split is not None:
                return split
        return untestable(
            ("an instance that did not change",), "everything changed at once: nobody is left to compare with"
        )

    return Test("only what changed is slower", read, (LATENCY,))


def _old_and_new(rows: pd.DataFrame, column: str) -> Reading | None:
    """Latency of values that were there before against values that appeared with the incident."""
    before = set(rows.loc[rows["period"] == BASELINE, column].dropna())
    old = rows[rows[column].isin(before)]
    new = rows[(rows["period"] == BASELINE) | ((rows["period"] == INCIDENT) & ~rows[column].isin(before))]
    counts = [(part["period"] == INCIDENT).sum() for part in (old, new)]
    if min(counts) < 10:
        return None
    effects = [ratio(part, LATENCY.name) for part in (old, new)]
    if effects[0] is None or effects[1] is None:
        return too_few_blocks()
    spared = effects[0].interval.value < CHANGED_SMALLEST and effects[1].interval.low > CHANGED_SMALLEST
    outcome = (
        Outcome.HELD
        if spared
        else Outcome.FAILED
        if effects[0].interval.low > CHANGED_SMALLEST
        else Outcome.INCONCLUSIVE
    )
    name = column.removeprefix("attribute.")
    text = f"unchanged {name} {spelled(effects[0].interval)}, new {spelled(effects[1].interval)}"
    return Reading(outcome, text, effects[1].interval, effects[1].p_above, effects[1].blocks)
