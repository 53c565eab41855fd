"""Claims about causes, one a file. With `correlator.model.names` this is all that an author of one imports."""

from correlator.model.evidence import Kind
from correlator.model.findings import Experiment
from hypotheses._absence import absent, unchanged
from hypotheses._after import ended_while_starting, errors_follow, worked_until
from hypotheses._allocations import enough_was_reserved
from hypotheses._answers import answers_are_worse, spares_other_answers, worse_answers_where
from hypotheses._cache import cached_less
from hypotheses._climbs import climbed, climbs, resets_at_start
from hypotheses._combine import by_kind, either, together
from hypotheses._constant import grew_by_a_constant
from hypotheses._context import fitting_requests_succeed, refusals_exceed_context
from hypotheses._contract import Hypothesis, Prediction, Test, necessary, separating
from hypotheses._decide import Direction
from hypotheses._divergence import diverged
from hypotheses._down import engine_is_down
from hypotheses._facts import began_with_change, changed, not_lowered
from hypotheses._happenings import occurs
from hypotheses._hardware import hardware_fault
from hypotheses._levels import plateaus, reaches, stays_below
from hypotheses._limits import at_limit, sits_at, times_out_near
from hypotheses._marked import spares_unmarked
from hypotheses._one_age import end_at_one_age
from hypotheses._predict import nearer_to_one, not_fallen, not_grown, shifted, shifted_by
from hypotheses._relations import accounts_for, fades, levels_off, outgrew, precedes, rises_with, spares
from hypotheses._scope import confined_to_changed, hits_all_alike
from hypotheses._settings import exceeds, larger, lowered, moved_to, set_to
from hypotheses._slower import engine_accounts, slower_with, tokens_slower
from hypotheses._telemetry import records_lost, second_source_disagrees
from hypotheses._weights import weights_came_slowly, weights_on_network

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
    "absent",
    "accounts_for",
    "answers_are_worse",
    "at_limit",
    "began_with_change",
    "by_kind",
    "cached_less",
    "changed",
    "climbed",
    "climbs",
    "confined_to_changed",
    "diverged",
    "either",
    "end_at_one_age",
    "ended_while_starting",
    "engine_accounts",
    "engine_is_down",
    "enough_was_reserved",
    "errors_follow",
    "exceeds",
    "fades",
    "fitting_requests_succeed",
    "grew_by_a_constant",
    "hardware_fault",
    "hits_all_alike",
    "larger",
    "levels_off",
    "lowered",
    "moved_to",
    "nearer_to_one",
    "necessary",
    "not_fallen",
    "not_grown",
    "not_lowered",
    "occurs",
    "outgrew",
    "plateaus",
    "precedes",
    "reaches",
    "records_lost",
    "refusals_exceed_context",
    "resets_at_start",
    "rises_with",
    "second_source_disagrees",
    "separating",
    "set_to",
    "shifted",
    "shifted_by",
    "sits_at",
    "slower_with",
    "spares",
    "spares_other_answers",
    "spares_unmarked",
    "stays_below",
    "times_out_near",
    "together",
    "tokens_slower",
    "unchanged",
    "weights_came_slowly",
    "weights_on_network",
    "worked_until",
    "worse_answers_where",
]
