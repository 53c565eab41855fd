"""Worlds for `replica_imbalance`."""

from correlator.model.evidence import Evidence
from correlator.model.findings import Verdict
from correlator.model.names import LEAST_LOAD, LOAD_IMBALANCE
from tests.hypotheses.added import with_levels
from tests.hypotheses.evidence import Case, served, unseen, window

QUEUED = served(queue=0.6)


def split(evidence: Evidence, beyond: tuple[float, float], least: tuple[float, float]) -> Evidence:
    """Two replicas, with a share of their requests beyond an even split and so many at the emptier one."""
    return with_levels(evidence, noise=0.15, **{LOAD_IMBALANCE.name: beyond, LEAST_LOAD.name: least})


HOT = split(window(served(), then=QUEUED), (0.1, 0.45), (3.0, 0.5))

CASES = {
    "one_of_two_replicas_has_nearly_all": Case(HOT, Verdict.SUPPORTED),
    "traffic_grew_for_both_alike": Case(
        split(window(served(), then=served(per_block=26, waiting=3, queue=0.6)), (0.1, 0.1), (3.0, 7.0)),
        Verdict.REFUTED,
        by="load_is_uneven",
    ),
    "both_have_more_and_one_of_them_most": Case(
        split(window(served(), then=QUEUED), (0.1, 0.4), (3.0, 7.0)), Verdict.REFUTED, by="another_replica_has_room"
    ),
    "load_is_uneven_and_the_time_goes_into_retrieval": Case(
        split(window(served(), then=served(retrieval=0.6)), (0.1, 0.45), (3.0, 0.5)),
        Verdict.REFUTED,
        by="engine_accounts_for_it",
    ),
    "a_single_replica": Case(unseen(HOT, LOAD_IMBALANCE, LEAST_LOAD), Verdict.UNTESTABLE, missing=LOAD_IMBALANCE),
}
