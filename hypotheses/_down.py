"""The prediction that nothing is served, read from the engine's log where no request is known."""

from __future__ import annotations

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ENGINE_DOWN
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._frames import untestable


def engine_is_down() -> Test:
    """The symptom is that no engine was ready: whoever asks then is not served."""

    def read(evidence: Evidence) -> Reading:
        symptom = evidence.symptom
        if symptom is None or symptom.signal is not ENGINE_DOWN:
            return untestable((ENGINE_DOWN.name,), "no engine was found down by what its log tells")
        held = symptom.change.low > 0
        text = f"{ENGINE_DOWN.name} {spelled(symptom.change)}"
        return Reading(Outcome.HELD if held else Outcome.INCONCLUSIVE, text)

    return Test("an engine died, or failed to start, and none was ready since", read, (ENGINE_DOWN,))
