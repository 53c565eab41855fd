"""The correlator's process: asked to end, it ends by itself and in order."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 120


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_signal_ends_it_after_its_last_work(number: signal.Signals, tmp_path: Path) -> None:
    """Exit code 0: what is left to load and to close is done, the signal does not cut it off."""
    (tmp_path / "spool").mkdir()
    config = tmp_path / "tollens.yaml"
    config.write_text(f"data: {tmp_path}\ncollector: {{spool: {{folder: {tmp_path / 'spool'}}}}}\n")
    command = [sys.executable, "-m", "correlator", "serve", "--config", str(config), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["ready"]
            process.send_signal(number)
            assert 0 == process.wait(PATIENCE_S)
        finally:
            process.kill()
