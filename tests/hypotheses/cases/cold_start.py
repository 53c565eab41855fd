"""Worlds for `cold_start`."""

from correlator.model.findings import Verdict
from correlator.model.names import Events
from tests.hypotheses.evidence import Case, event, served, window

BEFORE, NOW = event(Events.ENGINE_READY, -3600), event(Events.ENGINE_READY, 0)
WARMING = served(warm_up=1.5)

CASES = {
    "slow_after_a_start_and_then_as_before": Case(
        window(served(), then=WARMING, events=(BEFORE, NOW)), Verdict.SUPPORTED
    ),
    "slow_after_a_start_and_still_slow": Case(
        window(served(), then=served(time_per_output_token=0.012), events=(BEFORE, NOW)),
        Verdict.REFUTED,
        by="it_fades",
    ),
    "slow_for_a_while_without_a_start": Case(
        window(served(), then=WARMING, events=(BEFORE,)), Verdict.REFUTED, by="it_started"
    ),
    "nobody_would_have_seen_a_start": Case(
        window(served(), then=WARMING, watched=frozenset()), Verdict.UNTESTABLE, missing="engine_log"
    ),
    "a_start_and_too_few_requests_to_tell_whether_it_fades": Case(
        window(
            served(per_block=4),
            then=served(per_block=4, queue=0.12),
            blocks=6,
            events=(event(Events.ENGINE_READY, -3600, blocks=6), event(Events.ENGINE_READY, 0, blocks=6)),
        ),
        Verdict.INCONCLUSIVE,
    ),
}
