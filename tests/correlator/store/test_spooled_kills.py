"""A loader that is killed, at steps and at moments of no one's choosing, neither loses nor doubles a record."""

import os
import random
import signal
import subprocess
import sys
from itertools import count

from correlator.model.segments import segment_names
from correlator.store import Store
from correlator.store.spooled import load_ready
from correlator.store.undoing import newest_blocks, prepare, undo
from tests.correlator.store.build import log_batch
from tests.correlator.store.spooling import check, fill, numbers_in

KILLS = int(os.environ.get("TOLLENS_KILLS", "4"))
STEPS = 90
"""More than loading a segment of each signal takes, with what must be put right before."""


def test_killed_while_loading(tmp_path):
    """After kills before chosen steps and at random moments every record is in each table exactly once."""
    chance, number, killed = random.Random(), count(), 0
    spool, data = tmp_path / "spool", tmp_path / "data"
    while killed < KILLS:
        if len(segment_names(spool) if spool.exists() else []) < 6:
            fill(spool, [next(number), next(number)])
        killed += by_step(data, spool, chance) if killed % 2 else at_a_moment(data, spool, chance)
    with Store.open(data) as store:
        for _ in load_ready(store, spool):
            pass
        assert [] == segment_names(spool)
        check(store, range(10 * next(number)))


def by_step(data, spool, chance):
    """Whether the loader was killed before a step."""
    return loading(data, spool, str(chance.randrange(STEPS)))


def at_a_moment(data, spool, chance):
    """Whether the loader was killed at a random moment within the first second."""
    return loading(data, spool, kill_after_s=chance.uniform(0, 1))


def loading(*arguments, kill_after_s=60):
    """Whether a process that loads was killed; no later than so long after it has opened its store."""
    command = [sys.executable, "-m", "tests.correlator.store.spooled_child", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert "opened\n" == child.stdout.readline()
        try:
            child.wait(kill_after_s)
        except subprocess.TimeoutExpired:
            child.kill()
    assert child.returncode in (0, -signal.SIGKILL)
    return child.returncode != 0


def test_rows_of_before_are_never_taken_back(tmp_path):
    """Rows that were merged before blocks were numbered stay when a later load is undone, also after merges of both."""
    with Store.open(tmp_path) as store:
        for number in range(4):
            store.load([log_batch(str(number))])
        store.query("OPTIMIZE TABLE otel_logs FINAL")
        prepare(store.engine)
        store.load([log_batch("4")])
        before = newest_blocks(store.engine)
        store.load([log_batch("5")])
        store.query("OPTIMIZE TABLE otel_logs FINAL")
        assert [0, 1, 2, 3, 4, 5] == numbers_in(store, "otel_logs")
        undo(store.engine, before)
        assert [0, 1, 2, 3, 4] == numbers_in(store, "otel_logs")
        store.load([log_batch("6")])
        undo(store.engine, before)
        assert [0, 1, 2, 3, 4] == numbers_in(store, "otel_logs")
