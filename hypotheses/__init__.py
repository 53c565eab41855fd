"""Claims about causes, one a file. With `correlator.model.names` this is all that an author of one imports."""

from correlator.model.evidence import Kind
from correlator.model.findings import Experiment
from hypotheses._contract import Hypothesis, Prediction, Test, necessary, separating
from hypotheses._decide import Direction
from hypotheses._happenings import changed, confined_to_changed, occurs
from hypotheses._predict import not_grown, plateaus, reaches, shifted, shifted_by, stays_below, together
from hypotheses._relations import accounts_for, fades, precedes, rises_with, second_source_disagrees, spares

UP, DOWN = Direction.UP, Direction.DOWN

__all__ = [
    "DOWN",
    "UP",
    "Direction",
    "Experiment",
    "Hypothesis",
    "Kind",
    "Prediction",
    "Test",
    "accounts_for",
    "changed",
    "confined_to_changed",
    "fades",
    "necessary",
    "not_grown",
    "occurs",
    "plateaus",
    "precedes",
    "reaches",
    "rises_with",
    "second_source_disagrees",
    "separating",
    "shifted",
    "shifted_by",
    "spares",
    "stays_below",
    "together",
]
