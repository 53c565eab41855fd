"""Words about happenings, changed facts and who was hit: when each holds, fails or is untestable."""

from __future__ import annotations

import numpy as np
import pytest

from correlator.model.evidence import Event, Evidence, Fact
from correlator.model.findings import Outcome
from hypotheses import changed, confined_to_changed, occurs
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, OPEN, evidence, outcome, rows

LOG = frozenset({"engine_log"})


def happened(*seconds: float) -> tuple[Event, ...]:
    return tuple(Event("preemption", ONSET + int(s * 1e9), "", f"t{i}") for i, s in enumerate(seconds))


@pytest.mark.parametrize(
    ("events", "watched", "expected"),
    [
        (happened(5, 6), LOG, HELD),
        (happened(5, 6), frozenset(), HELD),
        (happened(), LOG, FAILED),
        (happened(-5, -6, 5), LOG, FAILED),
        (happened(90), LOG, FAILED),
        (happened(), frozenset(), BLIND),
        (happened(), frozenset({"traces"}), BLIND),
    ],
)
def test_occurs(events: tuple[Event, ...], watched: frozenset[str], expected: Outcome) -> None:
    """An event is seen or not; only a source that would have shown it can say that it did not happen."""
    seen = evidence(rows(request_latency=(1, 2)), events=events, watched=watched)
    assert expected == outcome(occurs("preemption", seen_by=LOG), seen)


def test_a_start_counts_by_itself() -> None:
    """One start since the baseline counts, even when there was one in the baseline."""
    seen = evidence(rows(request_latency=(1, 2)), events=happened(-60, 5), watched=LOG)
    assert HELD == outcome(occurs("preemption", seen_by=LOG, often=False), seen)
    assert FAILED == outcome(occurs("preemption", seen_by=LOG), seen)


def test_a_start_shortly_before_the_onset_counts() -> None:
    """An onset is known to within a minute: a start five seconds before it is no sign that nothing started."""
    seen = evidence(rows(request_latency=(1, 2)), events=happened(-5), watched=LOG)
    assert FAILED != outcome(occurs("preemption", seen_by=LOG, often=False), seen)


def test_an_event_names_its_traces() -> None:
    """The traces in which it happened are there to be opened."""
    seen = evidence(rows(request_latency=(1, 2)), events=happened(1, 2))
    assert ("t0", "t1") == occurs("preemption", seen_by=LOG).read(seen).trace_ids


def known(*facts: tuple[str, str, float]) -> Evidence:
    seen = tuple(Fact(name, value, ONSET + int(s * 1e9)) for name, value, s in facts)
    return evidence(rows(request_latency=(1, 2)), facts=seen)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([("engine.model", "a", -50), ("engine.model", "b", 1)], HELD),
        ([("engine.model", "a", -50)], FAILED),
        ([("engine.model", "a", -50), ("engine.model", "a", 1)], FAILED),
        ([("engine.model", "a", -60), ("engine.model", "b", -50)], FAILED),
        ([("engine.model", "b", 1)], BLIND),
        ([("engine.dtype", "x", -50), ("engine.dtype", "y", 1)], BLIND),
        ([], BLIND),
    ],
)
def test_changed(facts: list[tuple[str, str, float]], expected: Outcome) -> None:
    """A value holds until another is seen; one that was first seen afterwards has no before."""
    assert expected == outcome(changed("engine.model"), known(*facts))


def test_a_flag_that_appears_at_a_second_start_has_changed() -> None:
    """Two start-up logs that name what differs from the defaults settle a flag that only one of them names."""
    starts = [(name, "0.9", at) for at in (-50.0, 1.0) for name in ("engine.version", "engine.model")]
    assert HELD == outcome(changed("engine.max_num_seqs"), known(*starts, ("engine.max_num_seqs", "4", 1)))


def test_a_start_up_log_that_was_cut_settles_no_flag() -> None:
    """A first start whose flags line is missing leaves open what the flag was: nothing is known to have changed."""
    starts = [("engine.version", "0.9", -50.0), ("engine.version", "0.9", 1.0), ("engine.model", "m", 1.0)]
    assert BLIND == outcome(changed("engine.max_num_seqs"), known(*starts, ("engine.max_num_seqs", "4", 1)))


def versions(old: float, new: float, share: float = 0.5) -> Evidence:
    table = rows(request_latency=(1, 1))
    is_new = (table["start"] >= ONSET) & (table.index % 10 < 10 * share)
    in_incident = np.where(is_new, new, old)
    slower = np.where(table["start"] >= ONSET, in_incident, 1.0)
    version = np.where(is_new, "2", "1")
    return evidence(
        table.assign(**{"attribute.service.version": version, "request_latency": table["request_latency"] * slower})
    )


@pytest.mark.parametrize(("old", "new", "expected"), [(1.0, 3.0, HELD), (3.0, 3.0, FAILED), (1.0, 1.0, OPEN)])
def test_confined_to_changed(old: float, new: float, expected: Outcome) -> None:
    """What changed is to blame only where what did not change was spared."""
    assert expected == outcome(confined_to_changed(), versions(old, new))


def test_nobody_left_to_compare_with() -> None:
    """When everything changed at once, the change cannot be told from the time."""
    assert BLIND == outcome(confined_to_changed(), versions(1.0, 3.0, share=1.0))
