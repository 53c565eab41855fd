"""An engine over the shipped calibration, and claims made for a test, whose readings are given."""

from __future__ import annotations

from functools import lru_cache

from correlator import wiring
from correlator.join.symptom import find_symptom
from correlator.model.evidence import Evidence, Interval, Kind
from correlator.model.findings import Experiment, Finding, Outcome, Reading, Verdict
from correlator.model.names import Signal
from correlator.wiring import how_to_measure
from hypotheses import Hypothesis, Prediction, Test, necessary, separating
from hypotheses._engine import Answer, Engine
from hypotheses._probability import Calibration
from hypotheses._registry import all_hypotheses
from tests.hypotheses.evidence import served, window

GREW = window(served(), then=served(input_tokens=1100))
HEALTHY = window(served())


@lru_cache(maxsize=1)
def shipped() -> dict[str, object]:
    """The calibration that ships, as a mapping."""
    return wiring.calibration().model_dump()


def calibration(**changes: object) -> Calibration:
    """The calibration that ships, with some of it changed."""
    return Calibration.model_validate({**shipped(), **changes})


def engine(*hypotheses: Hypothesis) -> Engine:
    return Engine(hypotheses or all_hypotheses(), calibration(), find_symptom, how_to_measure())


def of(answer: Answer, id: str) -> Finding:
    return next(f for f in answer.findings if f.hypothesis == id)


def supported(answer: Answer) -> list[str]:
    return [f.hypothesis for f in answer.findings if f.verdict is Verdict.SUPPORTED]


NONE = next(h for h in all_hypotheses() if not h.predictions)


def says(outcome: Outcome, p: float | None = None, share: float | None = None, missing: str = "") -> Test:
    """A test with a reading that is known beforehand, but only where there are the real windows."""
    effect = None if share is None else Interval(share, share - 0.05, share + 0.05, "1")
    reading = Reading(outcome, "given", effect, p, 8, missing=(missing,) if missing else ())
    return Test("given", lambda _: reading, measures_share=share is not None)


def claim(
    id: str, *predictions: Prediction, upstream_of: tuple[str, ...] = (), cause: Signal | None = None
) -> Hypothesis:
    return Hypothesis(
        id=id,
        claim=f"It was {id}.",
        explains=frozenset({Kind.LATENCY}),
        predictions=predictions,
        upstream_of=upstream_of,
        cause=cause,
        experiment=Experiment("look", "to see", "true", "something"),
        remedy="Undo it.",
    )


def held_in_the_incident(share: float | None = None) -> tuple[Prediction, Prediction]:
    """Predictions that hold on the real windows and fail on the placebo's."""

    def read(evidence: Evidence) -> Reading:
        real = evidence.windows == GREW.windows
        effect = None if share is None else Interval(share, share - 0.05, share + 0.05, "1")
        return Reading(Outcome.HELD if real else Outcome.FAILED, "given", effect, None, 8)

    return necessary("n", Test("given", read, measures_share=share is not None)), separating("s", Test("given", read))
