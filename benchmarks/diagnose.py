"""How long a diagnosis takes and how much memory: `python -m benchmarks.diagnose [--quick]`.

A recorded incident by the command line, whole process, start of Python included; and a diagnosis of
generated spans that are in a store already, few and ten times as many. Limits are printed, never asserted.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.process import Run, load, quantity, run

CAPTURES = Path(__file__).parents[1] / "tests" / "data" / "captures"
INCIDENT = "s01_token_inflation"
PROCESS_LIMIT_S = 5
PROCESS_LIMIT_MIB = 1024
VOLUME_LIMIT_S = 1
MIB = 1024 * 1024

Seconds = Mapping[str, float]


def main(quick: bool = False) -> None:
    """Measure and print everything; `quick` with fewer runs and half of the spans."""
    console = Console(width=120)
    console.print(load(), highlight=False)
    console.print(repeated(2 if quick else 5))
    console.print(each_capture())
    console.print(volumes(500_000 if quick else 1_000_000, runs=2 if quick else 5))
    console.print(load(), highlight=False)


def repeated(runs: int) -> Table:
    """The same incident again and again, after one run to warm the disk cache."""
    _capture(INCIDENT)
    done = [_capture(INCIDENT) for _ in range(runs)]
    out = Table("", "min / median / max", "limit", title=f"tollens diagnose {INCIDENT} --json, {runs} runs")
    out.add_row("wall, s", quantity([r.wall_s for r in done]), str(PROCESS_LIMIT_S))
    out.add_row("CPU in user mode, s", quantity([r.user_s for r in done]), "")
    out.add_row("peak memory, MiB", quantity([r.peak_bytes / MIB for r in done]), str(PROCESS_LIMIT_MIB))
    return out


def each_capture() -> Table:
    """Every recorded incident once."""
    out = Table("recording", "wall, s", "CPU in user mode, s", "peak memory, MiB", title="every recording, one run")
    for folder in sorted(path for path in CAPTURES.iterdir() if path.is_dir()):
        took = _capture(folder.name)
        out.add_row(folder.name, f"{took.wall_s:.2f}", f"{took.user_s:.2f}", f"{took.peak_bytes / MIB:.0f}")
    return out


def volumes(spans: int, runs: int) -> Table:
    """Seconds per step over a tenth of `spans` and over all of them, medians of `runs` diagnoses."""
    (few, few_mib), (many, many_mib) = (_volume(count, runs) for count in (spans // 10, spans))
    title = f"diagnosis of spans in the store, seconds, median of {runs} runs in one process"
    out = Table("step", f"{spans // 10:,} spans", f"{spans:,} spans", "ratio", "limit", title=title)
    for step in few[0]:
        _add(out, step, _median(few, step), _median(many, step))
    totals = [[sum(steps.values()) for steps in taken] for taken in (few, many)]
    _add(out, "total", statistics.median(totals[0]), statistics.median(totals[1]), str(VOLUME_LIMIT_S))
    _add(out, "total, first run", totals[0][0], totals[1][0])
    out.add_row("peak memory, MiB", f"{few_mib:.0f}", f"{many_mib:.0f}", f"{many_mib / few_mib:.2f}", "")
    return out


def _capture(name: str) -> Run:
    return run("correlator", "diagnose", str(CAPTURES / name), "--json")


def _volume(spans: int, runs: int) -> tuple[list[Seconds], float]:
    """Seconds per step of each run, and the peak memory in MiB of the process that diagnosed."""
    with tempfile.TemporaryDirectory(prefix="tollens-bench-") as folder:
        run("benchmarks.volume", "load", folder, str(spans))
        took = run("benchmarks.volume", "diagnose", folder, str(runs))
    return json.loads(took.output), took.peak_bytes / MIB


def _median(taken: Sequence[Seconds], step: str) -> float:
    return statistics.median(steps[step] for steps in taken)


def _add(out: Table, step: str, few: float, many: float, limit: str = "") -> None:
    out.add_row(step, f"{few:.3f}", f"{many:.3f}", f"{many / few:.2f}", limit)


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
