"""Work done again and again: it goes on after a failure, says why it failed, and stops when told."""

import threading
from collections import Counter

import pytest
from prometheus_client import CollectorRegistry

from correlator.chores import Chore
from correlator.own_metrics import register


def test_a_failure_is_told_until_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    """The same trouble is logged once, counted each time, and gone with the next success."""
    results = iter(["disk full", "disk full", None])

    def work(counts: Counter[str]) -> None:
        if (trouble := next(results)) is not None:
            raise OSError(trouble)
        counts["done"] += 1

    chore = Chore("loading", 1, work)
    troubles = []
    for _ in range(3):
        chore.once()
        troubles.append(chore.trouble)
    assert ["disk full", "disk full", None] == troubles
    assert Counter(failed=2, done=1) == chore.counts
    assert 1 == len(caplog.records)


def test_trouble_without_a_word_is_trouble() -> None:
    """An error that says nothing, as MemoryError does, is told by its name."""

    def work(counts: Counter[str]) -> None:
        raise MemoryError

    chore = Chore("loading", 1, work)
    chore.once()
    assert "MemoryError" == chore.trouble


def test_it_is_done_again_until_stopped() -> None:
    """In a thread of its own, and the thread ends."""
    stopped, thrice = threading.Event(), threading.Event()

    def work(counts: Counter[str]) -> None:
        counts["done"] += 1
        if counts["done"] == 3:
            thrice.set()

    thread = Chore("loading", 0.001, work).start(stopped)
    assert thrice.wait(20)
    stopped.set()
    thread.join(20)
    assert not thread.is_alive()


def test_metrics_tell_which_chore_fails() -> None:
    """Each chore with what it counted, and whether it succeeded last."""

    def fail(counts: Counter[str]) -> None:
        raise OSError("gone")

    chores = [Chore("loading", 1, lambda counts: counts.update(segments=4)), Chore("retention", 1, fail)]
    for chore in chores:
        chore.once()
    registry = register(CollectorRegistry(), chores, Counter(looks=7))
    assert 4 == registry.get_sample_value("tollens_loading_total", {"what": "segments"})
    assert 1 == registry.get_sample_value("tollens_chore_well", {"chore": "loading"})
    assert 0 == registry.get_sample_value("tollens_chore_well", {"chore": "retention"})
    assert 7 == registry.get_sample_value("tollens_watch_total", {"what": "looks"})
