"""Predictions about how good answers are: whether they are what got worse, and which of them did."""

from __future__ import annotations

from correlator.model.effects import difference
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ANSWER_SHORTFALL, DEGENERATE, TRUNCATED, Signal
from correlator.model.worth import QUALITY_SHARE
from hypotheses._combine import together
from hypotheses._contract import Test
from hypotheses._decide import Direction, spelled
from hypotheses._frames import frame_with, too_few_blocks, untestable
from hypotheses._predict import named, shifted_by
from hypotheses._relations import MIN_ROWS, accounts_for, rises_with

BAD = frozenset({ANSWER_SHORTFALL, DEGENERATE, TRUNCATED})
"""What a bad answer shows in: an evaluator's mark, a loop, an end at its limit."""


def answers_are_worse() -> Test:
    """Answers got worse, and that is the symptom or brought it about."""

    def read(evidence: Evidence) -> Reading:
        signal = _shown_by(evidence)
        if isinstance(signal, Reading):
            return signal
        return together(accounts_for(signal), shifted_by(signal, Direction.UP, QUALITY_SHARE)).read(evidence)

    return Test("answers are worse than before", read, (ANSWER_SHORTFALL,), measures_share=True)


def worse_answers_where(mark: Signal) -> Test:
    """Of the incident's requests those with the mark are the ones whose answers are bad, whatever shows it."""

    def read(evidence: Evidence) -> Reading:
        signal = _shown_by(evidence)
        return signal if isinstance(signal, Reading) else rises_with(signal, mark, in_incident=True).read(evidence)

    return Test(f"answers are worse where {named(mark)} is 1", read, (ANSWER_SHORTFALL, mark))


def spares_other_answers(mark: Signal) -> Test:
    """Answers to requests without the mark are as good as they were to those."""

    def read(evidence: Evidence) -> Reading:
        signal = _shown_by(evidence)
        if isinstance(signal, Reading):
            return signal
        frame = frame_with(evidence, signal, mark)
        if isinstance(frame, Reading):
            return frame
        if "trace_id" not in frame.rows:
            return untestable((mark.name,), f"{named(mark)} is known of all requests together, not of single ones")
        rows = frame.rows[frame.rows[mark.name] == 0]
        if min((rows["period"] == period).sum() for period in (BASELINE, INCIDENT)) < MIN_ROWS:
            return Reading(Outcome.UNTESTABLE, f"hardly any request is without {named(mark)}")
        found = difference(rows, signal.name)
        if found is None:
            return too_few_blocks()
        interval = found.interval
        spared, hit = interval.high < QUALITY_SHARE, interval.low > QUALITY_SHARE / 2
        outcome = Outcome.HELD if spared else Outcome.FAILED if hit else Outcome.INCONCLUSIVE
        text = f"{named(signal)} of requests without {named(mark)} {spelled(interval)}"
        return Reading(outcome, text, interval, None, found.blocks)

    return Test(f"answers are as good as before where {named(mark)} is 0", read, (ANSWER_SHORTFALL, mark))


def _shown_by(evidence: Evidence) -> Signal | Reading:
    """The signal in which bad answers are the symptom; where they are not, an evaluator's marks."""
    if evidence.symptom is None:
        return untestable((ANSWER_SHORTFALL.name,), "no symptom beyond noise that answers could show")
    return evidence.symptom.signal if evidence.symptom.signal in BAD else ANSWER_SHORTFALL
