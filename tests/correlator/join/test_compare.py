"""Two bundles side by side: the first is the baseline whatever their times say."""

from dataclasses import replace

import pandas as pd
import pytest

from correlator.join.compare import side_by_side
from correlator.join.symptom import find_symptom
from correlator.model.errors import InputError
from correlator.model.evidence import Coverage, Event, Evidence, Fact
from tests.correlator.join.synthetic import service, slower
from tests.correlator.join.telemetry import at

HOUR = 3600


def later(evidence: Evidence, seconds: float) -> Evidence:
    shift = int(seconds * 1e9)
    frames = [frame.assign(start=frame["start"] + shift) for frame in (evidence.requests, evidence.series)]
    return replace(evidence, requests=frames[0], series=frames[1])


SHIFTS = {"after": HOUR, "overlapping": 80, "same time": 0, "reversed": -80, "long before": -HOUR}


@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS.keys())
def test_the_order_given_counts_not_the_clock(shift: float) -> None:
    """Whenever the second bundle was recorded, it is the incident, with all its requests and only those."""
    before, after = service(seed=1), later(service(seed=2, fault=slower(2, 0)), shift)
    found = side_by_side(before, after)
    counts = found.requests["period"].value_counts()
    assert (len(before.requests), len(after.requests)) == (counts["baseline"], counts["incident"])
    symptom = find_symptom(found)
    means = [b.requests.loc[b.requests["error"] == 0, "request_latency"].mean() for b in (before, after)]
    assert symptom is not None and symptom.change.value == pytest.approx(means[1] / means[0])


def test_apart_means_apart() -> None:
    """Windows never overlap, and their lengths are those of the bundles."""
    bundle = service(seed=1)
    windows = side_by_side(bundle, bundle).windows
    assert windows is not None and windows.given
    assert windows.baseline.end <= windows.incident.start
    assert windows.baseline.seconds == windows.incident.seconds


def test_two_halves_of_the_same_show_nothing() -> None:
    """A bundle compared with itself has no symptom."""
    assert find_symptom(side_by_side(service(seed=1), service(seed=1))) is None


def test_what_belongs_to_the_second_bundle_moves_with_it() -> None:
    """Events and facts of a moved bundle keep their distance to its requests and fall into the incident."""
    before = service(seed=1)
    after = replace(before, events=(Event("preemption", at(30)),), facts=(Fact("engine.x", "2", at(30)),))
    found = side_by_side(before, after)
    assert found.windows is not None
    assert ("preemption",) == tuple(e.name for e in found.during("incident", frozenset({"preemption"})))
    assert found.events[0].unix_nano == found.facts[0].unix_nano
    begin = found.requests.loc[found.requests["period"] == "incident", "start"].min()
    assert found.events[0].unix_nano - begin == at(30) - before.requests["start"].min()


def test_a_bundle_without_activity_is_refused() -> None:
    """Nothing to compare is an input error that says so."""
    nothing = Evidence(pd.DataFrame({"start": [], "host": []}), pd.DataFrame({"start": [], "host": []}))
    with pytest.raises(InputError, match="no requests and no measurements"):
        side_by_side(service(), nothing)
    with pytest.raises(InputError, match="no requests and no measurements"):
        side_by_side(nothing, service())


def test_coverage_claims_only_what_both_have() -> None:
    """Records and problems add up; a signal or a source counts as watched only where both bundles have it."""
    first = Coverage(
        records={"spans": 2}, signals={"a": {}, "b": {}}, watched=frozenset({"traces", "engine_log"}),
        problems={"malformed": 1}, messages=("x",),
    )  # fmt: skip
    second = Coverage(
        records={"spans": 3}, signals={"b": {}, "c": {}}, watched=frozenset({"traces"}),
        problems={"malformed": 2}, messages=("y",),
    )  # fmt: skip
    found = side_by_side(replace(service(), coverage=first), replace(service(), coverage=second)).coverage
    assert ({"spans": 5}, {"b"}, {"traces"}, {"malformed": 3}, ("x", "y")) == (
        found.records, set(found.signals), found.watched, found.problems, found.messages,
    )  # fmt: skip
