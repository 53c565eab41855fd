"""The watcher over hours of a made-up service, its clock turned by the test."""

from dataclasses import replace
from itertools import pairwise

import pytest

from correlator.model import names as n
from correlator.model.errors import InputError
from correlator.model.evidence import Evidence, Kind, Window, Windows
from correlator.model.incidents import State
from correlator.watch.loop import watch
from correlator.watch.moments import Moments
from correlator.watch.settings import Change, Slo, WatchSettings
from tests.correlator.join.synthetic import service, slower
from tests.correlator.join.telemetry import at
from tests.correlator.watch.world import SETTINGS, World, answer, several, silent

SHORT = SETTINGS.model_copy(update={"change": Change(window_s=120, baseline_s=600)})


def world(evidence: Evidence, **changed: object) -> World:
    return World(evidence, settings=SHORT.model_copy(update=changed))


def slow_service(seconds: float = 1800, since: float = 900, until: float = 1200) -> Evidence:
    return service(seconds=seconds, rate=3, memory=0.3, fault=slower(3, since, until))


def test_an_incident_from_beginning_to_end() -> None:
    """Nothing before, opened soon after the onset, one incident, closed after the quiet, baseline before the onset."""
    watched = world(slow_service(seconds=2100))
    assert [] == watched.run(720, 900)
    incident = watched.run(900, 2100)[0]
    assert 1 == len(watched.incidents)
    assert at(900) < incident.opened < at(1080)
    assert at(1200 + 300) <= incident.closed <= at(1200 + 300 + 180)
    assert (State.CLOSED, Kind.LATENCY, "rag") == (incident.state, incident.kind, incident.where)
    assert incident.baseline.end <= at(900)


def test_a_long_incident_stays_open_although_the_stretch_before_is_ill_too() -> None:
    """It is compared with its own baseline, not with the latest ten minutes, which have become as bad."""
    watched = world(slow_service(seconds=2400, until=2400))
    watched.run(930, 1110)
    assert ["open"] == [i.state.value for i in watched.run(1800, 2400)]


def test_silence_is_not_health() -> None:
    """A service that stops sending keeps its incident, and the incident says that nobody knows."""
    watched = world(silent(slow_service(seconds=2400, until=1100), 1100, 2400))
    watched.run(930, 1110)
    incident = watched.run(1200, 2400)[0]
    assert State.OPEN is incident.state
    assert "not enough telemetry" in incident.note
    assert watched.counts["unknown"] > 0


def test_the_sick_service_is_named_and_the_other_spared() -> None:
    """Among several services each is looked at by itself."""
    both = several(rag=service(seconds=1200, rate=3, memory=0.3), search=slow_service(1200))
    assert ["search"] == [i.where for i in world(both).run(930, 1110)]


def test_an_objective_opens_without_any_change() -> None:
    """A service that was always too slow breaks its objective although nothing got worse."""
    objective = Slo(name="fast", kind=Kind.LATENCY, threshold=0.1, window_s=120)
    watched = world(service(seconds=1200, rate=3), slos=(objective,), change=Change(enabled=False))
    watched.run(720, 840)
    assert ["slo:fast"] == [i.detector for i in watched.incidents]


def test_diagnoses_are_asked_for_what_was_seen() -> None:
    """Kind, place and windows are those of the incident: its own baseline, and from the onset to now."""
    watched = world(slow_service())
    incident = watched.run(930, 1110)[0]
    windows, kind, where = watched.asked[-1]
    assert (Kind.LATENCY, "rag", incident.baseline, incident.onset) == (
        kind,
        where,
        windows.baseline,
        windows.incident.start,
    )


def test_a_diagnosis_is_repeated_until_it_is_stable_and_not_too_often() -> None:
    """Another first cause, or another probability, starts the count anew; two in a row that agree settle it."""
    watched = world(slow_service(until=1800))
    watched.answers = [answer("a"), answer("b"), answer("b", 0.7), answer("b", 0.72), answer("b", 0.74), answer("c")]
    incident = watched.run(930, 1800)[0]
    ends = [windows.incident.end for windows, _, _ in watched.asked]
    assert 5 == len(watched.asked)
    assert all(later - sooner >= 60e9 for sooner, later in pairwise(ends))
    assert (True, answer("b", 0.74)) == (incident.settled, incident.diagnosis)


@pytest.mark.parametrize("error", [InputError("no data"), RuntimeError("a defect")])
def test_a_diagnosis_that_fails_is_counted_and_tried_again(error: Exception) -> None:
    """Neither the incident nor the watch is lost."""
    watched = world(slow_service())
    watched.answers = [error, answer("a")]
    incident = watched.run(930, 1170)[0]
    assert 1 == watched.counts["failed_diagnoses"]
    assert answer("a") == incident.diagnosis


def test_a_restart_changes_nothing() -> None:
    """What is known lies in the incidents: a new watcher goes on where the old one was."""
    steady, restarted = world(slow_service(2100)), world(slow_service(2100))
    steady.run(900, 2100)
    restarted.run(900, 1350)
    restarted.__post_init__()
    restarted.run(1350, 2100)
    assert steady.incidents == restarted.incidents


def test_telemetry_younger_than_the_delay_is_left_for_later() -> None:
    """The latest window ends before the telemetry that may not all be here yet."""
    seen: list[Windows] = []
    watched = world(slow_service(), delay_s=45)
    watched.watcher = replace(watched.watcher, evidence=lambda w: (seen.append(w), watched.watch_evidence(w))[1])
    watched.run(930, 931)
    assert [Window(at(930 - 45 - 120), at(930 - 45))] == [windows.incident for windows in seen]


def test_the_loop_goes_on_after_a_look_that_failed() -> None:
    """A store that cannot be read is counted; the next look works again, and stopping stops."""
    watched = world(slow_service())
    waits: list[float] = []

    def clock() -> int:
        return at(930 + 30 * len(waits))

    def evidence(windows: Windows) -> Evidence:
        if len(waits) % 2:
            raise OSError("gone")
        return watched.watch_evidence(windows)

    watched.watcher = replace(watched.watcher, evidence=evidence)
    moments = Moments(120, clock=clock, steady=lambda: clock() / 1e9)
    watch(watched.watcher, lambda s: (waits.append(s), len(waits) > 4)[1], moments)
    assert [30.0] * 5 == waits
    assert (2, 2) == (watched.counts["failed_looks"], watched.counts["looks"])


def test_healthy_services_are_left_alone() -> None:
    """Drift that only comes and goes, looked at every half minute, open nothing."""
    assert [] == [i.title for i in world(service(seconds=2400, rate=3, memory=0.7)).run(720, 2400)]


def test_an_objective_of_a_service_that_went_silent_says_so_and_is_given_up() -> None:
    """Nobody named the service, so nothing looks for it any more: its incident must not stay open for ever."""
    failing = service(seconds=1200, rate=3)
    failing = replace(failing, requests=failing.requests.assign(**{n.ERROR.name: 1.0}))
    slo = Slo(name="all succeed", kind=Kind.ERRORS, threshold=0.01, window_s=300)
    watched = world(failing, change=Change(enabled=False, baseline_s=60), slos=(slo,), abandon_after_s=3600)
    (open_,) = watched.run(600, 1200)
    assert (State.OPEN, "") == (open_.state, open_.note)
    (unheard,) = watched.run(1200, 2400)
    assert State.OPEN is unheard.state and "not enough telemetry" in unheard.note
    (closed,) = watched.run(2400, 7200)
    assert State.CLOSED is closed.state and closed.note.startswith("given up")


def test_nothing_enabled_looks_at_nothing() -> None:
    """Without change detection and objectives no evidence is read."""
    watched = world(service(), change=Change(enabled=False))
    watched.watcher = replace(watched.watcher, evidence=lambda windows: pytest.fail("read"))
    assert [] == watched.run(0, 60)


def test_settings_refuse_what_cannot_be() -> None:
    """Unknown keys and doubled names are errors."""
    with pytest.raises(ValueError, match="extra"):
        WatchSettings.model_validate({"every": 3})
