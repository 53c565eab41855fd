"""Worlds for `gpu_interconnect`."""

from dataclasses import replace

import numpy as np

from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import NVLINK_ERRORS, PCIE_LINK_WIDTH, PCIE_REPLAYS, Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, seen, served, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

WATCHED = ALL_SOURCES | {"kernel_log", "nccl_log"}
SLOWER = window(served(), then=served(time_per_output_token=0.011), watched=WATCHED)


def linked(evidence: Evidence, lanes: float = 16.0, replays: float = 0.0, nvlink: float = 0.0) -> Evidence:
    """The evidence with its GPUs' links: sound before, with these means in the incident."""
    during = (evidence.series["period"] == INCIDENT).to_numpy()
    noise = np.random.default_rng(3).lognormal(0, 0.1, len(during))
    columns = {PCIE_REPLAYS.name: replays * noise, NVLINK_ERRORS.name: nvlink * noise}
    told = {name: np.where(during, values, 0.0) for name, values in columns.items()}
    series = evidence.series.assign(**told, **{PCIE_LINK_WIDTH.name: np.where(during, lanes, 16.0)})
    return seen(replace(evidence, series=series))


WAITING = on_gpu(SLOWER, then=gpu(power=280))

CASES = {
    "the_link_lost_lanes_and_the_gpu_waits": Case(linked(WAITING, lanes=4.0), Verdict.SUPPORTED),
    "packets_are_sent_again": Case(linked(WAITING, replays=400.0), Verdict.SUPPORTED),
    "nvlink_errors": Case(linked(WAITING, nvlink=50.0), Verdict.SUPPORTED),
    "nccl_fell_back_to_the_host": Case(
        linked(
            on_gpu(
                window(
                    served(),
                    then=served(time_per_output_token=0.011),
                    events=(event(Events.NCCL_FALLBACK, 1),),
                    watched=WATCHED,
                )
            )
        ),
        Verdict.SUPPORTED,
    ),
    "sound_links": Case(linked(WAITING), Verdict.REFUTED, by="the_link_got_worse"),
    "a_lost_lane_that_nothing_waits_for": Case(
        linked(on_gpu(window(served(), then=served(retrieval=0.6), watched=WATCHED)), lanes=8.0),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "links_were_not_measured": Case(
        unseen(linked(WAITING), PCIE_LINK_WIDTH, PCIE_REPLAYS, NVLINK_ERRORS),
        Verdict.UNTESTABLE,
        missing=PCIE_LINK_WIDTH,
    ),
}
