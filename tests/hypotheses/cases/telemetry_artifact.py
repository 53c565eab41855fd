"""Worlds for `telemetry_artifact`."""

from dataclasses import replace

from correlator.model.evidence import Kind
from correlator.model.findings import Verdict
from correlator.model.names import LATENCY, TELEMETRY_LOST
from tests.hypotheses.evidence import Case, seen, served, unseen, window

LOST = window(served(per_block=30), then=served(per_block=30, lost=0.75))
SAMPLED = window(served(per_block=30, counted=1), then=served(per_block=30, counted=1, lost=0.75))
WHOLE = SAMPLED.requests.assign(**{TELEMETRY_LOST.name: 0.0})

CASES = {
    "only_slow_traces_arrive": Case(LOST, Verdict.SUPPORTED),
    "a_collector_refuses_batches": Case(
        window(served(per_block=30, refused=0.0), then=served(per_block=30, lost=0.75, refused=0.6)), Verdict.SUPPORTED
    ),
    "sampling_was_changed_and_no_trace_is_torn": Case(seen(replace(SAMPLED, requests=WHOLE)), Verdict.SUPPORTED),
    "clocks_parted_and_the_service_is_slow": Case(
        window(served(), then=served(queue=0.6, skew=0.05)), Verdict.REFUTED, by="a_second_source_disagrees"
    ),
    "nothing_is_lost": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="telemetry_was_disturbed"),
    "traces_are_lost_and_metrics_show_it_too": Case(
        window(served(per_block=30), then=served(per_block=30, lost=0.3, queue=0.6)),
        Verdict.REFUTED,
        by="a_second_source_disagrees",
    ),
    "losses_were_not_counted": Case(unseen(LOST, TELEMETRY_LOST), Verdict.UNTESTABLE, missing=TELEMETRY_LOST),
    "there_is_no_second_source": Case(
        seen(replace(LOST, series=LOST.series.drop(columns=[LATENCY.name, f"n.{LATENCY.name}"]))),
        Verdict.UNTESTABLE,
        missing=LATENCY,
    ),
    "some_traces_are_lost_and_that_is_all": Case(window(served(), then=served(lost=0.3)), Verdict.SUPPORTED),
    "some_traces_are_lost_and_latency_is_asked_for": Case(
        window(served(), then=served(lost=0.3), kind=Kind.LATENCY), Verdict.INCONCLUSIVE
    ),
    "batches_are_refused_and_that_is_all": Case(
        window(served(refused=0.0), then=served(refused=0.4)), Verdict.SUPPORTED
    ),
}
