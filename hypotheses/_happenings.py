"""Predictions about things that happened."""

from __future__ import annotations

from correlator.model.evidence import BASELINE, Event, Evidence, Windows
from correlator.model.findings import Outcome, Reading
from hypotheses._contract import Test
from hypotheses._frames import untestable

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


def since_baseline(evidence: Evidence, name: str) -> list[Event]:
    """Events of this name from the baseline's end to the incident's."""
    return _since(evidence, frozenset({name}), after_baseline=True)


def _since(evidence: Evidence, names: frozenset[str], after_baseline: bool) -> list[Event]:
    """Events since the baseline's end, or already from shortly before the onset."""
    if evidence.windows is None:
        return []
    low = evidence.windows.baseline.end if after_baseline else before_onset(evidence.windows)
    return [e for e in evidence.events if e.name in names and low <= e.unix_nano < evidence.windows.incident.end]


def before_onset(windows: Windows) -> int:
    """A minute before the onset, but not in the baseline's first half; at the latest the baseline's end."""
    middle = (windows.baseline.start + windows.baseline.end) // 2
    return min(windows.baseline.end, max(windows.incident.start - LEAD_NS, middle))
