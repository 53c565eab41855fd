"""Windows found by themselves: the onset where something happened, silence where nothing did."""

import pandas as pd
import pytest

from correlator.join.windows import extent, trimmed, with_found_windows
from correlator.model.evidence import Event, Evidence, Fact, Kind, Window, Windows
from tests.correlator.join.synthetic import asked, service, slower
from tests.correlator.join.telemetry import T0, at

SEEDS = range(100)


def onset_s(evidence: Evidence) -> float | None:
    """Seconds after T0 at which the found symptom began."""
    return (evidence.symptom.onset - T0) / 1e9 if evidence.symptom else None


HEALTHY = pytest.mark.parametrize("memory", [0.0, 0.7], ids=["white", "lasting"])


@HEALTHY
def test_a_healthy_service_has_no_symptom(memory: float) -> None:
    """With levels that vary by 15 % and nothing else, at least 95 of 100 services are left in peace."""
    accused = [seed for seed in SEEDS if with_found_windows(service(seed=seed, memory=memory)).symptom]
    assert len(accused) <= 5, accused


@HEALTHY
def test_a_restart_alone_is_no_symptom(memory: float) -> None:
    """With a known moment in the middle that changed nothing, at least 95 of 100 are left in peace."""
    restart = (Event("engine_start", at(80)),)
    services = (service(seed=seed, memory=memory, events=restart) for seed in SEEDS)
    accused = [seed for seed, evidence in enumerate(services) if with_found_windows(evidence).symptom]
    assert len(accused) <= 5, accused


@pytest.mark.parametrize("surge", [1.0, 2.0], ids=["as always", "twice the rate"])
def test_more_load_alone_is_no_symptom(surge: float) -> None:
    """With load that varies or doubles and latency that does not follow, at least 95 of 100 are left in peace."""
    services = (asked(service(seed=seed, memory=0.7), seed, 0.7, surge) for seed in SEEDS)
    accused = [seed for seed, evidence in enumerate(services) if with_found_windows(evidence).symptom]
    assert len(accused) <= 5, accused


def test_a_small_change_is_found_where_the_load_changed() -> None:
    """Latency 1.4 times as high stands out by itself in few services, and in most where the rate doubled with it."""
    plain = [service(seed=seed, memory=0.0, fault=slower(1.4, 90)) for seed in range(20)]
    loaded = [asked(each, seed, 0.0, 2.0) for seed, each in enumerate(plain)]
    alone, onsets = ([o for o in map(onset_s, map(with_found_windows, each)) if o] for each in (plain, loaded))
    assert len(onsets) >= len(alone) + 8
    assert all(abs(onset - 90) <= 10 for onset in onsets)


def test_an_onset_is_found_without_help() -> None:
    """Where latency doubled it is found in 19 of 20 services, within two blocks of the moment."""
    onsets = [onset_s(with_found_windows(service(seed=seed, fault=slower(2.0, 90)))) for seed in range(20)]
    missed = [onset for onset in onsets if onset is None or abs(onset - 90) > 20]
    assert len(missed) <= 1, onsets


@pytest.mark.parametrize("moment", ["event", "fact"])
def test_a_known_moment_is_the_onset(moment: str) -> None:
    """Where something is known to have happened when latency rose, the windows meet exactly there."""
    evidence = service(seed=3, fault=slower(1.8, 83))
    if moment == "event":
        evidence = Evidence(evidence.requests, evidence.series, events=(Event("instance_start", at(83)),))
    else:
        facts = (Fact("engine.x", "1", at(0), "engine"), Fact("engine.x", "2", at(83), "engine"))
        evidence = Evidence(evidence.requests, evidence.series, facts=facts)
    found = with_found_windows(evidence)
    first_after = evidence.requests.loc[evidence.requests["start"] >= at(83), "start"].min()
    assert found.windows is not None
    assert first_after == found.windows.incident.start
    assert found.windows.baseline.end <= at(83)


def test_an_incident_that_ended_is_found() -> None:
    """A bump with recovery gives an incident window that leaves the recovered time out."""
    found = with_found_windows(service(300, seed=4, fault=slower(2.5, 100, 180)))
    assert found.windows is not None and found.symptom is not None
    start, end = ((t - T0) / 1e9 for t in (found.windows.incident.start, found.windows.incident.end))
    assert (pytest.approx(100, abs=20), pytest.approx(180, abs=20)) == (start, end)


def test_an_improvement_is_no_symptom() -> None:
    """Latency that halved is nothing to explain."""
    assert with_found_windows(service(seed=5, fault=slower(0.5, 80))).symptom is None


def test_windows_are_there_even_without_symptom() -> None:
    """A quiet service still gets two windows to compare, one after the other."""
    found = with_found_windows(service(seed=6)).windows
    assert found is not None and not found.given
    assert found.baseline.start < found.baseline.end <= found.incident.start < found.incident.end


@pytest.mark.parametrize("requests", [0, 1])
def test_too_little_activity_gives_no_windows(requests: int) -> None:
    """Nothing, or a single request, cannot be split in two."""
    evidence = service()
    found = with_found_windows(Evidence(evidence.requests.head(requests), evidence.series.iloc[:0]))
    assert (None, None) == (found.windows, found.symptom)


@pytest.mark.parametrize("seconds", [1, 15, 45])
def test_short_data_is_survived(seconds: float) -> None:
    """Less than the blocks a comparison needs: windows without a symptom."""
    found = with_found_windows(service(seconds, rate=20, fault=slower(5, seconds / 2)))
    assert found.windows is not None
    assert found.symptom is None


def test_a_day_is_searched_in_bounded_cells() -> None:
    """Long data is searched on cells that are longer, and the onset is found within two of them."""
    found = with_found_windows(service(7200, seed=8, rate=1, fault=slower(3, 5400)))
    assert onset_s(found) == pytest.approx(5400, abs=2 * 60)


def test_a_kind_asked_for_is_reported_even_within_noise() -> None:
    """Who names a symptom gets its change between the windows with the interval, however small."""
    found = with_found_windows(service(seed=9), Kind.LATENCY)
    assert found.symptom is not None
    assert Kind.LATENCY == found.symptom.kind


def test_extent_runs_from_the_first_request_to_the_last() -> None:
    """The extent holds every request and nothing more."""
    requests = service().requests
    assert Window(requests["start"].min(), requests["start"].max() + 1) == extent(service())


def test_trimming_takes_idle_ends_off() -> None:
    """Given windows shrink to the activity inside; an empty one stays as given."""
    requests = pd.DataFrame({"start": [at(10), at(20), at(30)], "host": ""})
    evidence = Evidence(requests, pd.DataFrame({"start": [], "host": []}))
    found = trimmed(Windows(Window(at(0), at(25)), Window(at(40), at(50)), given=True), evidence)
    assert Windows(Window(at(10), at(20) + 1), Window(at(40), at(50)), given=True) == found
