"""Predictions that something did not happen, read only where a source would have shown it."""

from __future__ import annotations

from dataclasses import replace

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from hypotheses._contract import Test
from hypotheses._facts import in_force
from hypotheses._frames import untestable
from hypotheses._happenings import occurs

CONTRARY = {Outcome.HELD: Outcome.FAILED, Outcome.FAILED: Outcome.HELD}


def absent(*events: str, seen_by: frozenset[str]) -> Test:
    """None of these events happened around the onset or later; known only where each of the sources was watched.

    One of them may show that something happened; that nothing did, only all of them can.
    """
    happened = occurs(*events, seen_by=seen_by, often=False)

    def read(evidence: Evidence) -> Reading:
        reading, unseen = happened.read(evidence), sorted(seen_by - evidence.coverage.watched)
        if reading.outcome is Outcome.FAILED and unseen:
            return untestable(tuple(unseen), f"no source that would show all of {', '.join(events)}")
        return replace(reading, outcome=CONTRARY.get(reading.outcome, reading.outcome))

    return Test(f"none of {', '.join(events)} happened around the onset or later", read)


def unchanged(*facts: str, kind: str) -> Test:
    """Each of these facts that is known is the same in the baseline and in the incident, and one is known."""

    def read(evidence: Evidence) -> Reading:
        before, after = in_force(evidence, facts)
        known = [fact for fact in facts if fact in before and fact in after]
        if not known:
            return untestable(facts, f"{kind} not seen in both windows ({', '.join(facts)})")
        differ = [fact for fact in known if before[fact] != after[fact]]
        text = "; ".join(f"{fact}: {before[fact]} → {after[fact]}" for fact in differ or known)
        return Reading(Outcome.FAILED if differ else Outcome.HELD, text)

    return Test(f"{kind} is the same as before", read)
