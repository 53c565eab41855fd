"""The output that the README shows is what the command prints now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_shows_what_the_demo_prints() -> None:
    """Each line of the README's output stands in that of `tollens demo`, in the same order; a dot line leaves out."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(Symptom\n.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    command = [sys.executable, "-m", "correlator", "demo"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=ROOT).stdout
    lines = iter(line.rstrip() for line in printed.splitlines())
    missing = [line for line in shown.splitlines() if line.strip() not in ("", "…") and line.rstrip() not in lines]
    assert [] == missing
