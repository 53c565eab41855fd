"""Worlds for `dependency_slow`."""

import numpy as np

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import DEPENDENCY, DEPENDENCY_ERROR, ERROR, LATENCY
from tests.hypotheses.evidence import Case, Served, served, unseen, window
from tests.hypotheses.failing import around, measured, now_and_then


def calling(before: float, during: float, then: Served | None = None) -> Evidence:
    """Each request also calls another service for so many seconds."""
    evidence = measured(window(served(), then=then), {DEPENDENCY: around(before, during, 0.5)})
    return measured(evidence, {LATENCY: lambda rows, _: rows[LATENCY.name] + rows[DEPENDENCY.name]})


SLOW = calling(0.05, 0.6)
FAILS = measured(
    window(served(), then=served(errors=0.3, model_fails=False)),
    {DEPENDENCY: around(0.05, 0.05), DEPENDENCY_ERROR: lambda rows, _: rows[ERROR.name]},
)
MODEL_FAILS = measured(
    window(served(), then=served(errors=0.3)),
    {DEPENDENCY: around(0.05, 0.05), DEPENDENCY_ERROR: lambda rows, _: np.zeros(len(rows))},
)

CASES = {
    "a_feature_store_is_slow": Case(SLOW, Verdict.SUPPORTED),
    "it_fails": Case(FAILS, Verdict.SUPPORTED),
    "the_model_is_slow": Case(
        calling(0.05, 0.05, then=served(time_per_output_token=0.015)), Verdict.REFUTED, by="its_calls_got_worse"
    ),
    "its_calls_doubled_but_the_time_goes_into_the_model": Case(
        calling(0.04, 0.08, then=served(time_per_output_token=0.025)), Verdict.REFUTED, by="accounts_for_it"
    ),
    "the_model_fails": Case(MODEL_FAILS, Verdict.REFUTED, by="its_calls_got_worse"),
    "other_calls_were_not_traced": Case(unseen(SLOW, DEPENDENCY), Verdict.UNTESTABLE, missing=DEPENDENCY),
    "which_calls_failed_was_not_traced": Case(
        unseen(FAILS, DEPENDENCY_ERROR), Verdict.UNTESTABLE, missing=DEPENDENCY_ERROR
    ),
    "a_few_of_the_failures_come_with_it": Case(
        measured(
            FAILS, {DEPENDENCY_ERROR: lambda rows, rng: (rows[ERROR.name] > 0) * now_and_then(0.04, 0.04)(rows, rng)}
        ),
        Verdict.REFUTED,
        by="accounts_for_it",
    ),
}
