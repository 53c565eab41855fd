"""Parts that are kept running: what ends all of them, and what does not."""

import subprocess
import sys
from pathlib import Path

PATIENCE_S = 60.0
SUPERVISOR = """
import os, signal, sys
from correlator.supervise import Part, keep_running

seen = []

def announce(ready):
    seen.append(ready)
    if len(seen) == 2:
        os.kill(os.getpid(), signal.SIGTERM)

sys.exit(keep_running([Part("part", [sys.executable, "-c", sys.argv[1], sys.argv[2]])], announce))
"""
READY_THEN_TWO = """
import pathlib, sys
log = pathlib.Path(sys.argv[1])
log.write_text((log.read_text() if log.exists() else "") + "started ")
print('{"ready": true}', flush=True)
sys.exit(2)
"""


def supervised(part: str, log: Path) -> int:
    command = [sys.executable, "-c", SUPERVISOR, part, str(log)]
    return subprocess.run(command, stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False).returncode


def test_a_part_that_has_run_is_started_again_whatever_it_says(tmp_path: Path) -> None:
    """A disk that became read-only makes it refuse its folder: that must not end the other part for good."""
    assert 0 == supervised(READY_THEN_TWO, tmp_path / "log")
    assert ["started"] * 2 == (tmp_path / "log").read_text().split()


def test_a_part_that_never_ran_ends_all(tmp_path: Path) -> None:
    """It refused its configuration at the start: its exit code is that of all."""
    assert 2 == supervised("import sys; sys.exit(2)", tmp_path / "log")
