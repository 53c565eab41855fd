"""At which moments the watcher looks, whatever stops it or sets its clock."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from correlator.model.evidence import Evidence, Windows
from correlator.model.incidents import State
from correlator.watch.loop import watch
from correlator.watch.moments import MOST_MISSED, Moments, moment
from correlator.watch.settings import Change
from tests.correlator.join.synthetic import service, slower
from tests.correlator.join.telemetry import at
from tests.correlator.watch.world import SETTINGS, World

SHORT = SETTINGS.model_copy(update={"change": Change(window_s=120, baseline_s=600)})


def ill(since: float, until: float, seconds: float = 2100) -> Evidence:
    return service(seconds=seconds, rate=3, memory=0.3, fault=slower(3, since, until))


class Clocks:
    """A wall clock that may be set, and one that nobody sets; both in seconds of the made-up service."""

    def __init__(self, second: float) -> None:
        self.wall = self.steady = second

    def moments(self, path: Path | None = None, loaded: Callable[[], int | None] = lambda: None) -> Moments:
        return Moments(SHORT.shortest_s, path, loaded, lambda: at(self.wall), lambda: at(self.steady) / 1e9)

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


def looked(world: World, clocks: Clocks, moments: Moments, until: float) -> list[float]:
    """Watch until the steady clock is there: the pauses between looks."""
    pauses: list[float] = []

    def stopped(seconds: float) -> bool:
        pauses.append(seconds)
        clocks.wait(seconds)
        return clocks.steady >= until

    watch(world.watcher, stopped, moments)
    return pauses


@pytest.mark.parametrize(
    ("last", "expected"),
    [(None, (1000, 0)), (980, (1000, 0)), (900, (1000, 0)), (899, (900, 1)), (690, (700, 3)), (1500, (1000, 0))],
)
def test_no_stretch_is_left_out(last: int | None, expected: tuple[int, int]) -> None:
    """With windows of 100 those between the last look and now follow each other, the latest ends now."""
    found = moment(last, 1000, 100)
    assert expected == (found.at, found.further)


def test_a_pause_without_end_is_caught_up_in_part(caplog: pytest.LogCaptureFixture) -> None:
    """An hour of windows at most, and it is said that nobody looked at the rest."""
    assert 1_000_000 - MOST_MISSED * 100 == moment(0, 1_000_000, 100).at
    assert "nobody looked" in caplog.text


def test_what_began_and_ended_while_nobody_watched_is_noticed(tmp_path: Path) -> None:
    """A correlator that was down for a quarter of an hour opens and closes the incident of that time."""
    world, clocks = World(ill(1000, 1300), settings=SHORT), Clocks(870)
    looked(world, clocks, clocks.moments(tmp_path / "looked"), until=930)
    assert [] == world.incidents
    clocks.wait(870)
    looked(world, clocks, clocks.moments(tmp_path / "looked"), until=1920)
    assert [State.CLOSED] == [incident.state for incident in world.incidents]
    assert at(1000) <= world.incidents[0].opened <= at(1300)
    assert world.counts["caught_up"] > 0


@pytest.mark.parametrize(("failures", "found"), [(2, 1), (3 * MOST_MISSED, 0)], ids=["for a moment", "for long"])
def test_a_missed_window_whose_look_failed_is_looked_at_again(tmp_path: Path, failures: int, found: int) -> None:
    """A store that fails twice costs two pauses, no incident; one that fails on and on does not stop the watch."""
    world, clocks = World(ill(1000, 1300), settings=SHORT), Clocks(870)
    looked(world, clocks, clocks.moments(tmp_path / "looked"), until=930)
    clocks.wait(870)
    sound, left = world.watcher.evidence, iter(range(failures))

    def failing(windows: Windows) -> Evidence:
        if next(left, None) is not None:
            raise OSError("no such disk")
        return sound(windows)

    world.watcher = replace(world.watcher, evidence=failing)
    pauses = looked(world, clocks, clocks.moments(tmp_path / "looked"), until=3000)
    assert found == len(world.incidents)
    assert failures == world.counts["failed_looks"]
    assert SHORT.every_s == min(pauses[1 : failures + 1])


def test_minutes_that_are_loaded_late_are_looked_at_late() -> None:
    """While the loader lags the watcher waits for it instead of looking at empty minutes."""
    world, clocks = World(ill(1000, 2100), settings=SHORT), Clocks(930)
    until: list[int | None] = [at(940)]
    moments = clocks.moments(loaded=lambda: until[-1])
    looked(world, clocks, moments, until=1500)
    assert ([], 0) == (world.incidents, world.counts["unknown"])
    until.append(None)
    looked(world, clocks, moments, until=1560)
    assert [State.OPEN] == [incident.state for incident in world.incidents]


@pytest.mark.parametrize("jump", [400, -100])
def test_an_incident_does_not_end_because_the_clock_was_set(jump: int) -> None:
    """It closes after it was well for five minutes, not after one of them and a clock that was set."""
    world, clocks = World(ill(900, 1200, seconds=3000), settings=SHORT), Clocks(930)
    moments = clocks.moments()
    looked(world, clocks, moments, until=1400)
    assert [True] == [incident.quiet_since is not None for incident in world.incidents]
    clocks.wall += jump
    looked(world, clocks, moments, until=1470)
    assert [(State.OPEN, at(1440 + jump))] == [(one.state, one.updated) for one in world.incidents]
    assert (1, False) == (world.counts["clock_jumps"], "failed_looks" in world.counts)
