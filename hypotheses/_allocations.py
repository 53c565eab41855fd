"""Predictions about GPU memory that could not be allocated: was there none, or was it held and used by nobody?"""

from __future__ import annotations

from dataclasses import replace

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Events
from hypotheses._contract import Test
from hypotheses._frames import untestable
from hypotheses._happenings import occurs, since_baseline
from hypotheses._levels import MOSTLY

FIGURES = ("asked_bytes", "unallocated_bytes")


def enough_was_reserved(seen_by: frozenset[str]) -> Test:
    """Most allocations that failed asked for less than the allocator held and nobody used: it was in pieces."""
    failed = occurs(Events.OUT_OF_MEMORY, seen_by=seen_by)

    def read(evidence: Evidence) -> Reading:
        reading = failed.read(evidence)
        if reading.outcome is not Outcome.HELD:
            return reading
        told = [e.attributes for e in since_baseline(evidence, Events.OUT_OF_MEMORY)]
        pairs = [tuple(float(a[name]) for name in FIGURES) for a in told if all(name in a for name in FIGURES)]
        if not pairs:
            return untestable(FIGURES, "no message says what was asked for and what was held unused")
        enough = sum(unused >= asked for asked, unused in pairs) / len(pairs)
        text = f"{enough:.0%} of {len(pairs)} allocations that failed asked for no more than was held unused"
        return replace(reading, outcome=Outcome.HELD if enough >= MOSTLY else Outcome.FAILED, reason=text)

    return Test("allocations failed though the allocator held enough that nobody used", read)
