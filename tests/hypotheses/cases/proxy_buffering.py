"""Worlds for `proxy_buffering`."""

import numpy as np

from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import (
    CLIENT_PER_TOKEN,
    ERROR,
    FIRST_TOKEN_HELD,
    LATENCY,
    PROXY_ERROR,
    TIME_TO_FIRST_TOKEN,
)
from tests.hypotheses.evidence import Case, served, unseen, window
from tests.hypotheses.failing import Made, around, measured, telling


def streaming(held: float, first: float, gap: float) -> Evidence:
    """In the incident the first token is held back so long, the engine's took `first`, and others come `gap` apart."""
    columns: dict[object, Made] = {
        TIME_TO_FIRST_TOKEN: around(0.1, first),
        CLIENT_PER_TOKEN: around(0.02, gap),
        FIRST_TOKEN_HELD: around(0.01, held),
    }
    return measured(window(served()), columns)  # type: ignore[arg-type]


def ages(seconds: float, spread: float) -> Made:
    """What failed took about so many seconds."""

    def made(rows: object, rng: np.random.Generator) -> np.ndarray:
        failed = (rows[ERROR.name] > 0) & (rows["period"] == INCIDENT)  # type: ignore[index]
        return np.where(failed, seconds * rng.lognormal(0, spread, len(failed)), rows[LATENCY.name])  # type: ignore[index]

    return made


ABORTED = telling(
    measured(window(served(), then=served(errors=0.3)), {LATENCY: ages(9, 0.01)}),
    "upstream timed out (110: Connection timed out) while reading upstream",
)
BUFFERED = streaming(held=3, first=0.1, gap=0.002)

CASES = {
    "a_buffer_holds_the_first_token_back": Case(BUFFERED, Verdict.SUPPORTED),
    "a_proxy_ends_answers_at_its_own_age": Case(ABORTED, Verdict.SUPPORTED),
    "the_engine_was_late_itself": Case(
        streaming(held=3, first=2, gap=0.002), Verdict.REFUTED, by="the_engine_was_in_time"
    ),
    "the_queue_grew": Case(
        measured(window(served(), then=served(queue=0.8)), {FIRST_TOKEN_HELD: around(0.01, 0.01)}),
        Verdict.REFUTED,
        by="answers_are_held_back_or_given_up",
    ),
    "requests_fail_for_another_reason": Case(
        telling(window(served(), then=served(errors=0.3)), "model is overloaded"),
        Verdict.REFUTED,
        by="answers_are_held_back_or_given_up",
    ),
    "gateway_errors_at_any_age": Case(
        telling(measured(window(served(), then=served(errors=0.3)), {LATENCY: ages(4, 1)}), "504 Gateway Time-out"),
        Verdict.REFUTED,
        by="the_engine_was_in_time",
    ),
    "only_one_side_was_seen": Case(unseen(BUFFERED, FIRST_TOKEN_HELD), Verdict.UNTESTABLE, missing=FIRST_TOKEN_HELD),
    "failures_that_do_not_say_why": Case(unseen(ABORTED, PROXY_ERROR), Verdict.UNTESTABLE, missing=PROXY_ERROR),
}
