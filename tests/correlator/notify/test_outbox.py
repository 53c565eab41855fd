"""The outbox: what is put is there after a crash, in order, within its bounds."""

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from correlator.model.deliveries import DeliveryState, WantedDeliveries
from correlator.model.notices import Change
from correlator.notify.outbox import FULL, Bounds, Outbox, Put
from tests.exporters.incidents import incident, told

WRITER = """
import sys
from pathlib import Path
from correlator.notify.outbox import Outbox, Put
from tests.exporters.incidents import incident, told
outbox = Outbox(Path(sys.argv[1]))
for number in range(100_000):
    outbox.put([Put(target="ops", notice=told(of=incident(f"i{number}", diagnosis=None)), mark="m")])
    print(number, flush=True)
"""


def put(outbox: Outbox, id: str, change: Change = Change.OPENED, target: str = "ops", version: int = 1) -> None:
    notice = told(change, incident(id, version=version, diagnosis=None))
    outbox.put([Put(target=target, notice=notice, mark=None if change is Change.RESOLVED else f"{version}")])


def waiting(outbox: Outbox) -> list[tuple[str, str]]:
    """Incident and change of what waits, in the order in which it was put."""
    found = outbox.find(WantedDeliveries(state=DeliveryState.WAITING))
    return [(each.incident, str(each.change)) for each in found][::-1]


def test_what_was_put_is_there_after_reopening(tmp_path: Path) -> None:
    """A notice keeps its key, and what the target was told is remembered."""
    first = Outbox(tmp_path)
    put(first, "a")
    before = first.next("ops")
    first.close()
    second = Outbox(tmp_path)
    assert before == second.next("ops")
    assert {("ops", "a"): "1"} == second.told()
    second.close()


def test_nothing_that_was_put_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    """kill -9 in the middle of writing: every notice whose putting had returned is there."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        told_ = [next(process.stdout) for _ in range(30)]
        os.kill(process.pid, signal.SIGKILL)
        told_ += [line for line in process.stdout if line.endswith("\n")]
    outbox = Outbox(tmp_path)
    kept = outbox.states(["ops"])[0].waiting
    outbox.close()
    assert len(told_) <= kept <= len(told_) + 1


def test_a_newer_notice_takes_the_place_of_an_update_that_waits(tmp_path: Path) -> None:
    """Opened, three updates, resolved: opened and resolved are left, of another target everything."""
    outbox = Outbox(tmp_path)
    put(outbox, "a", target="other")
    put(outbox, "a")
    for version in (2, 3, 4):
        put(outbox, "a", Change.UPDATED, version=version)
    assert [("a", "opened"), ("a", "opened"), ("a", "updated")] == waiting(outbox)
    put(outbox, "a", Change.RESOLVED, version=5)
    assert [("a", "opened"), ("a", "opened"), ("a", "resolved")] == waiting(outbox)
    assert {("other", "a"): "1"} == outbox.told()
    assert 3 == outbox.counts["ops", "superseded"]
    outbox.close()


def test_the_order_within_an_incident_is_kept(tmp_path: Path) -> None:
    """A notice that failed lets those of other incidents pass, but not the later one of its own."""
    outbox = Outbox(tmp_path)
    put(outbox, "a")
    put(outbox, "a", Change.RESOLVED, version=2)
    put(outbox, "b")
    order = []
    while found := outbox.next("ops"):
        order.append((found[0].incident, str(found[0].change)))
        if len(order) == 1:
            outbox.failed(found[0], "later", dead=False)
        else:
            outbox.delivered(found[0])
    assert [("a", "opened"), ("b", "opened"), ("a", "opened"), ("a", "resolved")] == order
    outbox.close()


def test_beyond_the_bound_the_oldest_is_a_dead_letter(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of ten notices with room for three: three wait, three are dead letters, four are discarded, and that is told."""
    caplog.set_level(logging.ERROR)
    outbox = Outbox(tmp_path, Bounds(notices=3))
    for number in range(10):
        put(outbox, f"i{number}")
    dead = outbox.find(WantedDeliveries(state=DeliveryState.DEAD))
    assert [("i7", "opened"), ("i8", "opened"), ("i9", "opened")] == waiting(outbox)
    assert [("i6", FULL), ("i5", FULL), ("i4", FULL)] == [(each.incident, each.reason) for each in dead]
    assert (7, 4) == (outbox.counts["ops", "overflowed"], outbox.counts["ops", "discarded"])
    assert "discarded" in caplog.text
    outbox.close()


def test_bytes_are_bounded(tmp_path: Path) -> None:
    """Dead letters go first, then the oldest that waits; other targets are not touched."""
    outbox = Outbox(tmp_path, Bounds(bytes=20_000))
    for target in ("ops", "other"):
        for number in range(5):
            outbox.put([Put(target=target, notice=told(of=incident(f"i{number}")), mark="m")])
    found = outbox.next("ops")
    assert found is not None
    outbox.failed(found[0], "refused", dead=True)
    for number in range(5, 60):
        outbox.put([Put(target="ops", notice=told(of=incident(f"i{number}")), mark="m")])
    ops, other = outbox.states(["ops", "other"])
    assert ops.bytes <= 20_000
    assert (0, 5) == (ops.dead, other.waiting)
    assert "i59" == waiting(outbox)[-1][0]
    assert 60 == ops.waiting + outbox.counts["ops", "discarded"]
    outbox.close()


def test_dead_letters_are_sent_again_with_their_old_key(tmp_path: Path) -> None:
    """One by its id, or all of a target; what is no dead letter is not touched."""
    outbox = Outbox(tmp_path)
    for target in ("ops", "ops", "other"):
        put(outbox, f"i{len(outbox.told())}", target=target)
        found = outbox.next(target)
        assert found is not None
        outbox.failed(found[0], "refused", dead=True)
    letters = outbox.find(WantedDeliveries(target="ops"))
    assert 1 == outbox.resend(id=letters[0].id)
    assert 0 == outbox.resend(id=letters[0].id)
    again = outbox.next("ops")
    assert again is not None
    assert (letters[0].notice_id, 0) == (again[0].notice_id, again[0].attempts)
    assert (1, 0) == (outbox.resend(target="ops"), outbox.resend(target="ops"))
    assert 1 == outbox.states(["other"])[0].dead
    outbox.close()


def test_pages_of_deliveries(tmp_path: Path) -> None:
    """Latest first; a page goes on where the one before ended."""
    outbox = Outbox(tmp_path)
    for number in range(5):
        put(outbox, f"i{number}")
    first = outbox.find(WantedDeliveries(limit=3))
    second = outbox.find(WantedDeliveries(limit=3, before=first[-1].id))
    assert ["i4", "i3", "i2", "i1", "i0"] == [each.incident for each in (*first, *second)]
    outbox.close()


def test_what_waits_for_a_target_that_is_gone_is_a_dead_letter(tmp_path: Path) -> None:
    """It is not sent, not lost, and what the target knew is forgotten."""
    outbox = Outbox(tmp_path)
    put(outbox, "a")
    put(outbox, "a", target="gone")
    outbox.only(["ops"])
    assert [("a", "opened")] == waiting(outbox)
    assert {("ops", "a"): "1"} == outbox.told()
    assert ["gone"] == [each.target for each in outbox.find(WantedDeliveries(state=DeliveryState.DEAD))]
    outbox.close()


def test_a_damaged_outbox_is_put_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Notices can be told although the disk spoilt the old ones, and the log says so."""
    (tmp_path / "outbox.sqlite").write_bytes(b"not a database" * 1000)
    outbox = Outbox(tmp_path)
    put(outbox, "a")
    assert [("a", "opened")] == waiting(outbox)
    assert (tmp_path / "outbox.damaged").exists()
    assert "cannot be read" in caplog.text
    outbox.close()


def test_a_notice_that_cannot_be_read_is_a_dead_letter(tmp_path: Path) -> None:
    """One of another version, or damaged, does not hold up the others."""
    outbox = Outbox(tmp_path)
    put(outbox, "a")
    put(outbox, "b")
    with outbox._turn() as ask:
        ask("UPDATE deliveries SET notice = x'00' WHERE incident = 'a'")
    found = outbox.next("ops")
    assert found is not None
    assert "b" == found[0].incident
    assert 1 == outbox.states(["ops"])[0].dead
    outbox.close()


def test_only_the_owner_may_look_inside(tmp_path: Path) -> None:
    """The folder of the outbox is closed to other users."""
    outbox = Outbox(tmp_path / "outbox")
    assert 0o700 == (tmp_path / "outbox").stat().st_mode & 0o777
    outbox.close()
