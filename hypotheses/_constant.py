"""The prediction that something was added to all alike: as much to the short ones as to the long ones."""

from __future__ import annotations

from correlator.model.effects import TAIL, difference
from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._frames import frame_with, too_few_blocks
from hypotheses._predict import named

LOW, HIGH = "p10", "p95"


def grew_by_a_constant(signal: Signal, at_least: float) -> Test:
    """The mean and the low tail of single requests' values rose by `at_least` and more, the high tail by no more."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        if "trace_id" not in frame.rows:
            return Reading(Outcome.UNTESTABLE, f"{named(signal)} is known on average, not of single requests")
        found = [difference(frame.rows, signal.name, statistic, unit=signal.unit) for statistic in ("mean", LOW, HIGH)]
        mean, low, high = found
        if mean is None or low is None or high is None:
            return too_few_blocks()
        grew = all(e.interval.value >= at_least and e.p_above <= TAIL for e in (mean, low))
        did_not = any(e.interval.high < at_least for e in (mean, low))
        more = high.interval.low > low.interval.high
        outcome = Outcome.FAILED if did_not or more else Outcome.HELD if grew else Outcome.INCONCLUSIVE
        tails = f"{LOW} {spelled(low.interval)}, {HIGH} {spelled(high.interval)}"
        text = f"{named(signal)} {spelled(mean.interval)} on average; {tails}"
        return Reading(outcome, text, mean.interval, max(mean.p_above, low.p_above), mean.blocks)

    return Test(f"{named(signal)} grew by {at_least:g} at least, of short ones as of long ones", read, (signal,))
