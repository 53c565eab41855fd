"""Reading in a process of its own gives what reading here gives, and its end is noticed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.files import Aside, Options, read
from collector.files._aside import ReadingError
from correlator.model.records import Batch, Problem
from tests.recorded import FOLDER

RECORDING = [str(FOLDER / "s01_token_inflation")]
MANY = RECORDING * 40


@pytest.fixture(autouse=True)
def _no_input(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield


def test_what_is_read_aside_is_what_is_read_here() -> None:
    """Batches and problems in the same order, and each input's name to the progress."""
    here: list[str] = []
    there: list[str] = []
    with Aside() as aside:
        aside.begin(RECORDING, Options())
        assert list(read(RECORDING, Options(), here.append)) == list(aside.read(RECORDING, Options(), there.append))
    assert here == there


def test_options_go_along(tmp_path: Path) -> None:
    """The time of a scrape without one comes from the options."""
    page = tmp_path / "page.txt"
    page.write_text("# TYPE a gauge\na 1\n")
    options = Options(scrape_time_unix_nano=1_700_000_000_000_000_000)
    with Aside() as aside:
        aside.begin(paths := [str(page)], options)
        assert list(read(paths, options)) == list(aside.read(paths, options))


def test_the_end_of_the_process_is_no_end_of_the_input() -> None:
    """A reader that is killed makes an error that says so, never a shorter answer."""

    def taken(items: Iterator[Batch | Problem]) -> None:
        next(items)
        ((_, process),) = aside._begun
        os.kill(process.pid, signal.SIGKILL)
        list(items)

    with Aside() as aside, pytest.raises(ReadingError, match="exit code -9"):
        aside.begin(MANY, Options())
        taken(aside.read(MANY, Options()))


def test_ctrl_c_is_for_who_reads() -> None:
    """A terminal sends it to both processes: the one aside goes on, and ends when the other one ends it."""

    def interrupted(items: Iterator[Batch | Problem]) -> Iterator[Batch | Problem]:
        yield next(items)
        ((_, process),) = aside._begun
        os.kill(process.pid, signal.SIGINT)
        yield from items

    with Aside() as aside:
        aside.begin(MANY, Options())
        told = sum(isinstance(item, Problem) for item in interrupted(aside.read(MANY, Options())))
    assert len(MANY) - len(RECORDING) <= told  # each copy is named


def test_ctrl_c_ends_a_diagnosis_without_a_word() -> None:
    """Exit code 130, no traceback, and nobody is left, also while the process aside is still starting."""
    command = [sys.executable, "-m", "correlator", "diagnose", *RECORDING]
    ours = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    children = Path(f"/proc/{ours.pid}/task/{ours.pid}/children")
    until = time.monotonic() + 20
    while not (born := children.read_text().split()) and time.monotonic() < until:
        assert ours.poll() is None
    os.killpg(ours.pid, signal.SIGINT)
    out, errors = ours.communicate(timeout=20)
    assert (130, b"", False) == (ours.returncode, out, b"Traceback" in errors)
    assert [] == [pid for pid in born if Path(f"/proc/{pid}").exists()]


def test_nobody_takes_what_is_read() -> None:
    """Leaving ends a process that waits for its reader."""
    with Aside() as aside:
        aside.begin(MANY, Options())
        ((_, process),) = aside._begun
    assert -signal.SIGKILL == process.returncode
