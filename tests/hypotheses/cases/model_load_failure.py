"""Worlds for `model_load_failure`."""

from correlator.model.findings import Verdict
from correlator.model.names import Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, served, window

DOWN = served(errors=0.97)
START, FAILED = event(Events.ENGINE_START, -20), event(Events.MODEL_LOAD_FAILURE, 2)
MISMATCH = event(Events.DRIVER_MISMATCH, 3)

CASES = {
    "a_weight_file_is_damaged": Case(window(served(), then=DOWN, events=(START, FAILED)), Verdict.SUPPORTED),
    "the_driver_does_not_fit": Case(window(served(), then=DOWN, events=(START, MISMATCH)), Verdict.SUPPORTED),
    "requests_fail_beside_an_engine_that_started": Case(
        window(served(), then=served(errors=0.4), events=(START, event(Events.ENGINE_READY, 2))),
        Verdict.REFUTED,
        by="loading_failed",
    ),
    "a_failed_start_of_another_model_while_all_goes_well": Case(
        window(served(), then=served(queue=0.6), events=(START, FAILED)), Verdict.REFUTED, by="explains_the_symptom"
    ),
    "it_failed_once_and_started_then": Case(
        window(served(), then=served(errors=0.4), events=(START, FAILED, event(Events.ENGINE_READY, 30))),
        Verdict.INCONCLUSIVE,
    ),
    "the_engine_s_log_is_missing": Case(
        window(served(), then=DOWN, watched=ALL_SOURCES - {"engine_log"}), Verdict.UNTESTABLE, missing="engine_log"
    ),
}
