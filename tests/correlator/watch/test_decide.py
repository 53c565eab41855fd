"""What becomes of incidents after a look, with sightings made up one by one."""

from dataclasses import replace

import pytest

from correlator.model.evidence import Kind, Window, Windows
from correlator.model.incidents import Incident, State
from correlator.watch.decide import OPEN_LIMIT, decide
from correlator.watch.settings import WatchSettings
from correlator.watch.sighting import Condition, Sighting

S = 1_000_000_000
T0 = 1_796_009_700 * S
SETTINGS = WatchSettings(close_after_s=300, abandon_after_s=86_400)


def sighting(
    second: int = 0,
    condition: Condition = Condition.WORSE,
    severity: float = 2.0,
    kind: Kind = Kind.LATENCY,
    where: str = "rag",
    detector: str = "change",
) -> Sighting:
    now = T0 + second * S
    windows = Windows(Window(now - 2100 * S, now - 300 * S), Window(now - 300 * S, now), given=True)
    return Sighting(detector, kind, where, condition, windows, severity, f"{kind} {severity}")


class Log:
    """Incidents as the store keeps them."""

    def __init__(self, settings: WatchSettings = SETTINGS) -> None:
        self.settings = settings
        self.versions: list[Incident] = []
        self.refused = 0

    def look(self, second: int, *sightings: Sighting) -> list[Incident]:
        live = [i for i in self.all if i.state is not State.MERGED]
        changed, refused = decide(live, sightings, T0 + second * S, self.settings)
        self.versions += changed
        self.refused += refused
        return changed

    @property
    def all(self) -> list[Incident]:
        return list({i.id: i for i in self.versions}.values())

    @property
    def states(self) -> list[str]:
        return [i.state.value for i in self.all]


def opened(*sightings: Sighting) -> Log:
    log = Log()
    log.look(0, *(sightings or (sighting(),)))
    return log


def test_a_symptom_opens_an_incident() -> None:
    """It starts where the latest window does and is compared with the stretch before."""
    incident = opened().all[0]
    windows = sighting().windows
    assert (State.OPEN, windows.incident.start, windows.baseline, T0) == (
        incident.state,
        incident.onset,
        incident.baseline,
        incident.opened,
    )


@pytest.mark.parametrize("condition", [Condition.WELL, Condition.UNKNOWN])
def test_nothing_bad_opens_nothing(condition: Condition) -> None:
    """Neither health nor ignorance is an incident."""
    assert [] == opened(sighting(condition=condition)).all


def test_the_same_symptom_is_the_same_incident() -> None:
    """While it lasts it is updated, keeps its onset and remembers its worst."""
    log = opened()
    log.look(30, sighting(30, severity=3.0))
    log.look(60, sighting(60, severity=1.5))
    incident = log.all[0]
    assert (1, 3, 3.0, "latency 3.0", T0 + 60 * S) == (
        len(log.all),
        incident.version,
        incident.severity,
        incident.title,
        incident.updated,
    )
    assert sighting().windows.incident.start == incident.onset


def test_other_kinds_and_other_places_are_other_incidents() -> None:
    """Kind and place tell incidents apart."""
    log = opened(sighting(), sighting(where="search"), sighting(kind=Kind.ERRORS))
    assert ["open"] * 3 == log.states


def test_errors_that_become_an_outage_stay_one_incident() -> None:
    """Availability is errors grown large, and the incident says so."""
    log = opened(sighting(kind=Kind.ERRORS))
    log.look(30, sighting(30, kind=Kind.AVAILABILITY, severity=40.0))
    assert [Kind.AVAILABILITY] == [i.kind for i in log.all]


def test_an_objective_and_a_change_of_one_kind_are_one_incident() -> None:
    """Two detectors that see the same symptom at the same place open one incident, by the graver of them."""
    log = opened(sighting(), sighting(detector="slo:fast", severity=5.0))
    assert ["slo:fast"] == [i.detector for i in log.all]


def test_it_closes_after_it_has_been_well_for_a_while() -> None:
    """Not at the first good look; and the time it closed is told."""
    log = opened()
    for second in range(30, 330, 30):
        log.look(second, sighting(second, Condition.WELL))
    assert ["open"] == log.states
    log.look(330, sighting(330, Condition.WELL))
    assert ["closed"] == log.states
    assert T0 + 330 * S == log.all[0].closed


def test_a_relapse_starts_the_wait_anew() -> None:
    """Quiet must be without a gap."""
    log = opened()
    log.look(30, sighting(30, Condition.WELL))
    log.look(60, sighting(60))
    log.look(340, sighting(340, Condition.WELL))
    assert ["open"] == log.states


def test_absence_of_data_is_not_quiet() -> None:
    """Without telemetry it stays open, says since when, and what was quiet before does not count."""
    log = opened()
    log.look(30, sighting(30, Condition.WELL))
    for second in range(60, 3600, 30):
        log.look(second, sighting(second, Condition.UNKNOWN))
    incident = log.all[0]
    assert (State.OPEN, None) == (incident.state, incident.quiet_since)
    assert "2026-11-30T03:36:00Z" in incident.note
    log.look(3600, sighting(3600, Condition.WELL))
    assert ("", State.OPEN) == (log.all[0].note, log.all[0].state)


def test_nothing_new_is_not_a_version() -> None:
    """Looks that see no data again and again do not fill the store."""
    log = opened()
    log.look(30, sighting(30, Condition.UNKNOWN))
    assert [] == log.look(60, sighting(60, Condition.UNKNOWN))
    assert [] == log.look(90)


def test_an_incident_nobody_hears_of_is_given_up_and_says_so() -> None:
    """After very long it is closed, but not as if it were over."""
    log = opened()
    log.look(86_400, sighting(86_400, Condition.UNKNOWN))
    assert ["closed"] == log.states
    assert log.all[0].note.startswith("given up: not enough telemetry")


def test_only_its_own_detector_closes_it() -> None:
    """An objective that is still broken keeps it open although nothing changed against before; and the reverse."""
    log = opened(sighting(detector="slo:fast"))
    for second in range(30, 900, 30):
        log.look(second, sighting(second, Condition.UNKNOWN, detector="slo:fast"), sighting(second, Condition.WELL))
    assert ["open"] == log.states


def test_an_objective_that_is_gone_leaves_its_incident_to_the_comparison() -> None:
    """Settings that changed do not leave incidents open for ever."""
    log = opened(sighting(detector="slo:gone"))
    for second in range(30, 360, 30):
        log.look(second, sighting(second, Condition.WELL))
    assert ["closed"] == log.states


def test_a_relapse_soon_after_closing_is_the_same_incident() -> None:
    """The window in which it is seen again reaches back into the incident: it is open again, one of both remains."""
    log = opened()
    for second in range(30, 360, 30):
        log.look(second, sighting(second, Condition.WELL))
    log.look(390, sighting(390, severity=9.0))
    first, second_ = log.all
    assert (State.OPEN, None, 9.0) == (first.state, first.closed, first.severity)
    assert (State.MERGED, first.id) == (second_.state, second_.merged_into)


def test_a_relapse_long_after_is_another_incident() -> None:
    """What does not overlap is not merged."""
    log = opened()
    for second in range(30, 360, 30):
        log.look(second, sighting(second, Condition.WELL))
    log.look(2000, sighting(2000))
    assert ["closed", "open"] == log.states


def test_overlapping_incidents_become_one() -> None:
    """Two open ones of one kind and place, as after a crash between two saves: the earlier remains."""
    log = opened()
    twin = replace(log.all[0], id="twin", opened=T0 + 5 * S, severity=7.0, note="")
    log.versions.append(twin)
    log.look(30, sighting(30))
    first, second = log.all
    assert (State.OPEN, 7.0) == (first.state, first.severity)
    assert (State.MERGED, first.id) == (second.state, second.merged_into)


def test_open_incidents_are_bounded_and_the_gravest_come_first() -> None:
    """A thousand broken services do not fill the store; what is refused is counted."""
    log = opened(*(sighting(where=f"s{k}", severity=1.0 + k) for k in range(OPEN_LIMIT + 30)))
    assert (OPEN_LIMIT, 30) == (len(log.all), log.refused)
    assert 31.0 == min(i.severity for i in log.all)


def test_deciding_twice_decides_the_same() -> None:
    """Same incidents, same sightings, same time: same answer."""
    live = opened().all
    seen = [sighting(30, severity=3.0), sighting(30, where="b")]
    assert decide(live, seen, T0 + 30 * S, SETTINGS) == decide(live, seen[::-1], T0 + 30 * S, SETTINGS)


def test_a_clock_that_jumps_back_closes_nothing() -> None:
    """Time that runs backwards is not a long quiet."""
    log = opened()
    log.look(30, sighting(30, Condition.WELL))
    log.look(-5000, sighting(-5000, Condition.WELL))
    assert ["open"] == log.states
