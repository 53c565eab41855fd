"""Worlds for `structured_output_cost`."""

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import DECODE, STRUCTURED
from tests.hypotheses.added import drawn, slowed, with_columns
from tests.hypotheses.evidence import Case, served, switched, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu


def with_schemas(evidence: Evidence, before: float, then: float, seconds: float) -> Evidence:
    """A share of the requests demands a schema, and decodes so much longer for it."""
    rows = drawn(evidence, before, then)
    marked = with_columns(evidence, **{STRUCTURED.name: rows.astype(float)})
    return slowed(marked, rows, DECODE, seconds) if seconds else marked


PLAIN = on_gpu(window(served(), then=served()), then=gpu(util=0.3, power=200))
MASKED = with_schemas(PLAIN, 0.05, 0.4, 0.8)

CASES = {
    "requests_with_a_schema_are_slow": Case(MASKED, Verdict.SUPPORTED),
    "everybody_waits_for_the_masks_and_the_gpu_with_them": Case(
        with_schemas(
            on_gpu(window(served(), then=served(time_per_output_token=0.012)), then=gpu(util=0.3, power=200)),
            0.05,
            0.5,
            1.0,
        ),
        Verdict.SUPPORTED,
    ),
    "fewer_demand_a_schema_and_all_requests_are_slow": Case(
        with_schemas(on_gpu(window(served(), then=served(time_per_output_token=0.012))), 0.3, 0.1, 0),
        Verdict.REFUTED,
        by="more_demand_a_schema",
    ),
    "the_back_end_changed_and_costs_the_same": Case(
        with_schemas(
            on_gpu(
                window(
                    served(),
                    then=served(queue=0.5),
                    facts=switched("engine.structured_outputs_backend", "xgrammar", "outlines"),
                )
            ),
            0.3,
            0.3,
            0,
        ),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "more_schemas_under_a_full_pool": Case(
        with_schemas(on_gpu(window(served(), then=served(kv_full=0.6, stall=0.8))), 0.1, 0.4, 0),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "nobody_says_who_demands_a_schema": Case(unseen(MASKED, STRUCTURED), Verdict.UNTESTABLE, missing=STRUCTURED),
}
