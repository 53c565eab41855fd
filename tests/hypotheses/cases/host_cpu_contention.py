"""Worlds for `host_cpu_contention`."""

from correlator.model.findings import Verdict
from correlator.model.names import CPU_PRESSURE, HOST_CPU
from tests.hypotheses.evidence import Case, served, unseen, window

STARVED = served(cpu=0.97, network=0.2, gateway=0.2)
CONTENDED = window(served(), then=STARVED)

CASES = {
    "a_neighbour_takes_the_cpu": Case(CONTENDED, Verdict.SUPPORTED),
    "a_host_that_was_busy_has_nothing_left": Case(
        window(served(cpu=0.85), then=served(cpu=0.99, network=0.2, gateway=0.2, remainder=0.1)), Verdict.SUPPORTED
    ),
    "only_throttling_was_measured": Case(
        unseen(window(served(), then=served(network=0.2, gateway=0.2, throttled=0.4)), HOST_CPU), Verdict.SUPPORTED
    ),
    "a_host_that_was_full_before_may_be_fuller": Case(
        window(served(cpu=0.99), then=served(cpu=1.0, network=0.2, gateway=0.2)),
        Verdict.UNTESTABLE,
        missing=CPU_PRESSURE,
    ),
    "the_container_is_throttled": Case(
        window(served(), then=served(cpu=0.97, network=0.2, gateway=0.2, throttled=0.4)), Verdict.SUPPORTED
    ),
    "the_model_itself_runs_on_a_throttled_cpu": Case(
        unseen(window(served(throttled=0.01), then=served(throttled=0.68, time_per_output_token=0.03)), HOST_CPU),
        Verdict.SUPPORTED,
    ),
    "calls_wait_for_a_connection_on_an_idle_host": Case(
        window(served(), then=served(calls_open=10, pool_size=4)), Verdict.REFUTED, by="cpu_use_rose"
    ),
    "the_cpu_is_busier_with_room_left": Case(
        window(served(), then=served(cpu=0.6, network=0.2)), Verdict.REFUTED, by="cpu_is_nearly_used_up"
    ),
    "the_cpu_is_full_but_the_time_goes_into_the_queue": Case(
        window(served(), then=served(cpu=0.97, queue=0.6)), Verdict.REFUTED, by="host_side_accounts_for_it"
    ),
    "cpu_was_not_measured": Case(unseen(CONTENDED, HOST_CPU), Verdict.UNTESTABLE, missing=HOST_CPU),
    "the_cpu_was_full_for_a_moment": Case(
        window(served(cpu=0.74), then=served(cpu=0.82, network=0.15), seed=5), Verdict.INCONCLUSIVE
    ),
}
