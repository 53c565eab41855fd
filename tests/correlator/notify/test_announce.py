"""What targets are told: what they do not know yet, and nothing twice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from correlator.model.deliveries import WantedDeliveries
from correlator.model.incidents import Incident, State
from correlator.model.notices import Change
from correlator.notify.announce import announce
from correlator.notify.outbox import ENDED_NS, Outbox
from tests.exporters.incidents import S, closed, incident

NOW = incident().opened + 100 * S
AFTER = (closed().closed or 0) + S


class Told:
    """An outbox and the incidents that are looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.outbox = folder, Outbox(folder)
        self.incidents: dict[str, Incident] = {}
        self.shown: Callable[[Incident], bool] = lambda incident: True

    def look(self, *incidents: Incident, now: int = NOW, targets: Sequence[str] = ("ops",)) -> list[tuple[str, str]]:
        """Look, after these have changed: what was put, as incident and change."""
        self.incidents |= {each.id: each for each in incidents}
        known = {each.id for each in self.outbox.find(WantedDeliveries())}
        announce(self.outbox, targets, self.live, self.incidents.get, None, now)
        new = [each for each in self.outbox.find(WantedDeliveries()) if each.id not in known]
        return [(each.incident, str(each.change)) for each in new][::-1]

    def reopen(self) -> None:
        self.outbox.close()
        self.outbox = Outbox(self.folder)

    def live(self, closed_after: int, limit: int) -> Sequence[Incident]:
        return [each for each in self.incidents.values() if self.shown(each)][:limit]


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    told = Told(tmp_path)
    yield told
    told.outbox.close()


def with_cause(cause: str, verdict: str = "supported", probability: float = 0.9) -> Incident:
    return incident(diagnosis={"findings": [{"hypothesis": cause, "verdict": verdict, "probability": probability}]})


def test_an_incident_is_told_once(told: Told) -> None:
    """Opened, and then nothing more while nothing changes."""
    assert [("1f0c", "opened")] == told.look(incident())
    assert [] == told.look(incident())


def test_a_new_incident_waits_for_its_first_diagnosis(told: Told) -> None:
    """One message with causes instead of two; but not for long."""
    young = incident(diagnosis=None, diagnosed=None)
    assert [] == told.look(young, now=young.opened + 5 * S)
    assert [("1f0c", "opened")] == told.look(young, now=young.opened + 31 * S)


def test_a_rerun_is_told_only_when_its_first_cause_or_verdict_is_another(told: Told) -> None:
    """The same cause, a little more probable, is no news."""
    assert [("1f0c", "opened")] == told.look(with_cause("a"))
    assert [] == told.look(with_cause("a", probability=0.95))
    assert [("1f0c", "updated")] == told.look(with_cause("b"))
    assert [("1f0c", "updated")] == told.look(with_cause("b", "inconclusive"))


def test_the_end_is_told_once(told: Told) -> None:
    """Resolved, and never again, however long it is looked at."""
    told.look(incident())
    assert [("1f0c", "resolved")] == told.look(closed())
    assert [] == told.look(closed())


def test_what_closed_while_nobody_looked_is_told(told: Told) -> None:
    """An incident that is no longer among the latest is asked for by its id."""
    told.look(incident())
    told.shown = lambda each: False
    assert [("1f0c", "resolved")] == told.look(closed())


def test_an_incident_that_became_part_of_another_is_over(told: Told) -> None:
    """Merged is told as resolved."""
    told.look(incident())
    told.shown = lambda each: False
    merged = replace(incident(), state=State.MERGED, merged_into="other")
    assert [("1f0c", "resolved")] == told.look(merged)


def test_an_old_incident_that_was_never_told_of_is_left_alone(told: Told) -> None:
    """When targets are configured for the first time, yesterday's incidents stay yesterday's."""
    assert [] == told.look(closed(), now=AFTER)


def test_what_opened_and_closed_between_two_looks_is_told(told: Told) -> None:
    """Opened and resolved, in this order and once; after a restart, too."""
    assert [] == told.look()
    assert [("1f0c", "opened"), ("1f0c", "resolved")] == told.look(closed(), now=AFTER)
    told.reopen()
    assert [] == told.look(now=AFTER + S)


def test_what_closed_before_its_first_diagnosis_is_told(told: Told) -> None:
    """It was not told while it waited for a diagnosis; its end does not swallow it."""
    young = incident(diagnosis=None, diagnosed=None)
    assert [] == told.look(young, now=young.opened + 5 * S)
    over = replace(young, state=State.CLOSED, closed=young.opened + 8 * S)
    assert [("1f0c", "opened"), ("1f0c", "resolved")] == told.look(over, now=young.opened + 9 * S)


def test_what_was_part_of_another_from_the_beginning_is_not_told(told: Told) -> None:
    """The other one is."""
    told.look()
    merged = replace(incident(), state=State.MERGED, merged_into="other", closed=AFTER)
    assert [] == told.look(merged, now=AFTER)


def test_one_that_closes_again_unseen_is_told_again(told: Told) -> None:
    """Opened again and closed at another time: news, although its end was told before."""
    told.look(incident())
    assert [("1f0c", "resolved")] == told.look(closed(), now=AFTER)
    again = replace(closed(version=9), closed=AFTER + 60 * S)
    assert [("1f0c", "opened"), ("1f0c", "resolved")] == told.look(again, now=AFTER + 61 * S)


def test_ends_are_not_remembered_for_ever(told: Told) -> None:
    """Those that nobody would look for any more are forgotten."""
    told.look()
    for number in range(5):
        at = NOW + number * (ENDED_NS - S)
        told.shown = lambda each, at=at: (each.closed or 0) >= at  # type: ignore[misc]
        told.look(replace(closed(f"i{number}"), opened=at, closed=at + 1), now=at + 2)
    assert {("ops", "i3"), ("ops", "i4")} == told.outbox.ended().keys()


def test_an_incident_that_nobody_remembers_is_forgotten(told: Told) -> None:
    """It is asked for once, not for ever."""
    told.look(incident())
    told.incidents.clear()
    assert [] == told.look()
    assert {} == told.outbox.told()


def test_a_new_target_is_told_what_is_open(told: Told) -> None:
    """Each target is told by what it knows itself."""
    told.look(incident())
    assert [("1f0c", "opened")] == told.look(incident(), targets=("ops", "pager"))


def test_one_that_opens_again_is_told_again(told: Told) -> None:
    """After it was resolved, open is news."""
    told.look(incident())
    told.look(closed())
    assert [("1f0c", "opened")] == told.look(incident(version=9))


def test_without_targets_nothing_is_looked_at(told: Told) -> None:
    """No target, no question."""
    told.shown = lambda each: pytest.fail("it was looked at")
    assert [] == told.look(incident(), targets=())


def test_what_a_full_disk_swallowed_is_told_at_the_next_look(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered as told that was not kept."""
    with monkeypatch.context() as full:
        full.setattr(told.outbox, "put", lambda puts: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            told.look(incident())
    assert [("1f0c", str(Change.OPENED))] == told.look(incident())
