"""Who is spared: requests that do not carry a mark, beside others that do."""

from __future__ import annotations

from correlator.model.effects import ratio
from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import LATENCY, Signal
from hypotheses._contract import Test
from hypotheses._decide import spared, spelled
from hypotheses._frames import frame_with, too_few_blocks, untestable
from hypotheses._predict import named
from hypotheses._relations import MIN_ROWS


def spares_unmarked(mark: Signal, effect: Signal = LATENCY) -> Test:
    """Requests of the incident without the mark (0) fared no worse than the baseline's without it.

    The mark is one of single requests: where the metrics tell only its share, nothing is said.
    """

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, effect, mark)
        if isinstance(frame, Reading):
            return frame
        if "trace_id" not in frame.rows:
            return untestable((mark.name,), f"{named(mark)} is known of all requests together, not of single ones")
        rows = frame.rows[frame.rows[mark.name] == 0]
        if (rows["period"] == INCIDENT).sum() < MIN_ROWS:
            return Reading(Outcome.UNTESTABLE, f"hardly any request of the incident is without {named(mark)}")
        found = ratio(rows, effect.name, "mean", frame.weight(effect))
        if found is None:
            return too_few_blocks()
        interval = found.interval
        text = f"{named(effect)} of requests without {named(mark)} {spelled(interval)}"
        return Reading(spared(interval), text, interval, None, found.blocks)

    return Test(f"requests without {named(mark)} were spared", read, (effect, mark))
