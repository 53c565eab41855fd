"""Predictions about the telemetry itself: what was lost on the way, and whether two sources tell the same."""

from __future__ import annotations

from correlator.model.effects import Effect, ratio
from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import CLIENT_LATENCY, LATENCY, SERVER_LATENCY, TELEMETRY_REFUSED, Signal
from correlator.model.worth import SPARED_RATIO
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._frames import too_few_blocks, untestable

REFUSED = frozenset({"rejected", "truncated", "malformed", "bad_time"})
"""Problems in reading by which records were lost (not: duplicates, and files that hold no telemetry)."""


def records_lost(at_least: float) -> Test:
    """Of the records that were to be read, at least this share was refused: broken, cut or without a usable time."""

    def read(evidence: Evidence) -> Reading:
        coverage = evidence.coverage
        if not coverage.losses_known:
            return untestable((TELEMETRY_REFUSED.name,), "what was refused on the way was not counted here")
        kept = sum(coverage.records.values())
        lost = sum(count for kind, count in coverage.problems.items() if kind in REFUSED)
        if not kept + lost:
            return untestable((), "nobody counted the records that were read")
        share = lost / (kept + lost)
        text = f"{lost} of {kept + lost} records could not be read"
        return Reading(Outcome.HELD if share >= at_least else Outcome.FAILED, text)

    return Test(f"at least {at_least:.0%} of the records could not be read", read)


def second_source_disagrees() -> Test:
    """A latency measured at one place by traces and by metrics moved in only one of them.

    The place is the client's call or the engine's request, or the whole request where metrics know only that
    (otherwise their whole request may be an inner one).
    """

    def read(evidence: Evidence) -> Reading:
        requests, series = evidence.compared
        inner = [s for s in (CLIENT_LATENCY, SERVER_LATENCY) if s.name in series]
        both = [s for s in inner or [LATENCY] if s.name in requests & series]
        if not both:
            missing = (CLIENT_LATENCY.name, SERVER_LATENCY.name, LATENCY.name)
            return untestable(missing, "no latency was measured by traces and by metrics at the same place")
        name = both[0].name
        weight = f"n.{name}" if f"n.{name}" in series else None
        traces, metrics = ratio(evidence.requests, name), ratio(evidence.series, name, "mean", weight)
        if traces is None or metrics is None:
            return too_few_blocks()
        return _disagreement(both[0], traces, metrics)

    return Test("traces and metrics disagree about the latency of one place", read, (CLIENT_LATENCY, SERVER_LATENCY))


def _disagreement(signal: Signal, traces: Effect, metrics: Effect) -> Reading:
    one, other = traces.interval, metrics.interval
    both = min(one.value, other.value) >= SPARED_RATIO
    apart = one.low > other.high or other.low > one.high
    outcome = Outcome.FAILED if both else Outcome.HELD if apart else Outcome.INCONCLUSIVE
    text = f"{signal.name} by traces {spelled(one)}, by metrics {spelled(other)}"
    return Reading(outcome, text, other, None, min(traces.blocks, metrics.blocks))
