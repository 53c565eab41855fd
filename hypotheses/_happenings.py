"""Predictions about things that happened, configuration that changed, and who was hit."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from correlator.model.effects import MIN_BLOCKS, ratio
from correlator.model.evidence import BASELINE, INCIDENT, Event, Evidence, Fact, Windows
from correlator.model.findings import Outcome, Reading
from correlator.model.names import LATENCY
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._frames import frame_with, too_few_blocks, untestable
from hypotheses._relations import SPARED

STARTED = ("engine.version", "engine.model")
"""Facts that a whole start-up log states: with both, a flag that is absent is at its default."""
LEAD_NS = 60_000_000_000
"""A cause may precede the onset by as much as an onset may be wrong (DESIGN 6)."""


def occurs(*events: str, seen_by: frozenset[str], often: bool = True) -> Test:
    """One of these events happened in the incident, between the windows, or within a minute before the onset.

    `often`: more often than in the baseline; a start or a deploy counts by itself (`often=False`).
    `seen_by` are the kinds of source (Coverage.watched) that would have shown it; without any of them the
    absence of the event means nothing.
    """
    names = frozenset(events)
    text = " or ".join(events)

    def read(evidence: Evidence) -> Reading:
        if evidence.windows is None:
            return untestable((), "nothing to compare: no two windows with activity")
        during = _since(evidence, names, often)
        before = evidence.during(BASELINE, names) if often else ()
        compared = f", {len(before)} in the baseline" if often else " around the onset or later"
        if len(during) > len(before):
            traces = tuple(dict.fromkeys(e.trace_id for e in during if e.trace_id))[:3]
            return Reading(
                Outcome.HELD,
                f"{text}: {len(during)} times{compared}",
                trace_ids=traces,
            )
        if not seen_by & evidence.coverage.watched:
            return untestable(tuple(sorted(seen_by)), f"no source that would show {text}")
        return Reading(Outcome.FAILED, f"{text}: {len(during)} times{compared}")

    return Test(
        f"{text} happened" + (" more often than in the baseline" if often else " around the onset or later"), read
    )


def _since(evidence: Evidence, names: frozenset[str], after_baseline: bool) -> list[Event]:
    """Events since the baseline's end, or already from shortly before the onset."""
    if evidence.windows is None:
        return []
    low = evidence.windows.baseline.end if after_baseline else _before_onset(evidence.windows)
    return [e for e in evidence.events if e.name in names and low <= e.unix_nano < evidence.windows.incident.end]


def _before_onset(windows: Windows) -> int:
    """A minute before the onset, but not in the baseline's first half; at the latest the baseline's end."""
    middle = (windows.baseline.start + windows.baseline.end) // 2
    return min(windows.baseline.end, max(windows.incident.start - LEAD_NS, middle))


def changed(*facts: str, kind: str = "configuration") -> Test:
    """One of these facts had another value in the incident than in the baseline.

    A start-up log that names only what differs from the defaults counts: a flag absent at one start and
    present at the next has changed.
    """

    def read(evidence: Evidence) -> Reading:
        before, after = in_force(evidence, facts)
        started = [set(side) == set(STARTED) for side in in_force(evidence, STARTED)]
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
    """Values of facts in the baseline (before what led to the onset) and at the end of the incident."""
    if evidence.windows is None:
        return {}, {}
    wanted = [f for f in evidence.facts if f.name in names]
    windows = evidence.windows
    early = [f for f in wanted if f.unix_nano < windows.baseline.end]
    before = _at(reversed(early), windows.baseline.end) | _at(wanted, _before_onset(windows))
    return before, _at(wanted, windows.incident.end)


def _at(facts: Iterable[Fact], moment: int) -> dict[str, str]:
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
    """Latency of values that were there before against values that appeared with the incident.

    Only blocks in which both served count: an instance that stopped when the other began is no witness.
    """
    before = set(rows.loc[rows["period"] == BASELINE, column].dropna())
    is_new = ~rows[column].isin(before)
    during = rows["period"] == INCIDENT
    shared = set(rows.loc[during & is_new, "block"]) & set(rows.loc[during & ~is_new, "block"])
    if len(shared) < MIN_BLOCKS:
        return None
    kept = ~during | rows["block"].isin(shared)
    old, new = rows[kept & ~is_new], rows[kept & (~during | is_new)]
    effects = [ratio(part, LATENCY.name) for part in (old, new)]
    if effects[0] is None or effects[1] is None:
        return too_few_blocks()
    spared = effects[0].interval.value < SPARED and effects[1].interval.low > SPARED
    outcome = Outcome.HELD if spared else Outcome.FAILED if effects[0].interval.low > SPARED else Outcome.INCONCLUSIVE
    name = column.removeprefix("attribute.")
    text = f"unchanged {name} {spelled(effects[0].interval)}, new {spelled(effects[1].interval)}"
    return Reading(outcome, text, effects[1].interval, effects[1].p_above, effects[1].blocks)
