"""How often the diagnosis is right on simulated incidents: `python -m benchmarks.accuracy [--seeds 5] [--ablations]`.

Each fault is simulated with each seed and diagnosed twice, with windows given and with windows found. AC@1: the
truth is first. Chance is one in the number of causes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.lab import FAULTS, write_capture
from collector.files import Options
from correlator.model.evidence import Window
from correlator.model.findings import Diagnosis, Verdict
from correlator.wiring import Request, diagnose
from hypotheses._registry import all_hypotheses

NONE = "none_of_these"
ABLATIONS: dict[str, Callable[[Path], Sequence[Path]]] = {
    "no traces": lambda folder: [p for p in telemetry_of(folder) if p.name != "traces.jsonl"],
    "no metrics": lambda folder: [folder / "traces.jsonl", folder / "logs.jsonl", folder / "vllm.log"],
    "engine log only": lambda folder: [folder / "vllm.log"],
}


@dataclass(frozen=True, slots=True)
class Case:
    """One diagnosis against the truth. `right` are the causes that would be right, the first one best."""

    fault: str
    setting: str
    right: tuple[str, ...]
    first: str
    supported: tuple[str, ...]
    verdict: str
    probability: float
    weak: tuple[str, ...]
    """Predictions of the truth that did not hold, with their outcome."""

    @property
    def hit(self) -> bool:
        """The truth is first, or silence is right and nothing is supported."""
        return self.first in self.right

    @property
    def wrong(self) -> tuple[str, ...]:
        """Supported, and not right."""
        return tuple(c for c in self.supported if c not in self.right)


def telemetry_of(folder: Path) -> list[Path]:
    """Everything in a capture but its truth."""
    return sorted(p for p in folder.iterdir() if p.name != "truth.json")


def judged(folder: Path, setting: str, paths: Sequence[Path], given: bool) -> Case:
    """Diagnose a capture (or a part of it) and compare with its truth."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    windows = [Window(*(int(moment * 1e9) for moment in truth[name])) for name in ("baseline", "incident")]
    baseline, incident = windows if given else (None, None)
    year = Options(near_unix_nano=windows[0].start)  # an engine log alone does not say its year
    request = Request(paths=[str(p) for p in paths], baseline_window=baseline, incident_window=incident, options=year)
    right = (NONE if truth["id"] == "none" else truth["id"], *truth["also"])
    try:
        return _case(truth["name"], setting, right, diagnose(request))
    except Exception as error:  # a crash is a wrong answer to be counted, not the end of an hour's run
        crash = (f"crashed: {error!r}",)
        return Case(truth["name"], setting, right, "crashed", (), Verdict.UNTESTABLE, 0.0, crash)


def _case(fault: str, setting: str, right: tuple[str, ...], answer: Diagnosis) -> Case:
    found = next(f for f in answer.findings if f.hypothesis == right[0])
    supported = tuple(f.hypothesis for f in answer.findings if f.verdict is Verdict.SUPPORTED)
    weak = tuple(f"{p.id}: {p.reading.outcome}" for p in found.predictions if p.reading.outcome != "held")
    if answer.symptom is None:
        weak = ("no symptom", *weak)
    return Case(fault, setting, right, answer.findings[0].hypothesis, supported, found.verdict, found.probability, weak)


def cases(faults: Iterable[str], seeds: int, severity: float, ablations: bool) -> Iterator[Case]:
    """Simulate and diagnose, one at a time; a capture is gone when its cases are made."""
    for fault in faults:
        for seed in range(seeds):
            folder = Path(tempfile.mkdtemp(prefix="tollens-lab-"))
            try:
                write_capture(FAULTS[fault](severity), folder, seed)
                yield judged(folder, "given", telemetry_of(folder), given=True)
                yield judged(folder, "found", telemetry_of(folder), given=False)
                for name, part in ABLATIONS.items() if ablations else ():
                    yield judged(folder, name, part(folder), given=True)
            finally:
                shutil.rmtree(folder)


def table(rows: Sequence[Case]) -> Table:
    """A line per fault and setting."""
    out = Table("fault", "setting", "AC@1", "supported", "wrong supported", "p(truth)", "first", "weak predictions")
    for fault, setting in dict.fromkeys((c.fault, c.setting) for c in rows):
        mine = [c for c in rows if (c.fault, c.setting) == (fault, setting)]
        out.add_row(
            fault, setting, _share(c.hit for c in mine), _share(c.right[0] in c.supported for c in mine),
            _counted(w for c in mine for w in c.wrong), f"{sum(c.probability for c in mine) / len(mine):.2f}",
            _counted(c.first for c in mine if not c.hit), _counted(w for c in mine if not c.hit for w in c.weak),
        )  # fmt: skip
    return out


def summary(rows: Sequence[Case]) -> Iterator[str]:
    """Per setting: the share first, the share with a wrong support, the silence on what is healthy."""
    for setting in dict.fromkeys(c.setting for c in rows):
        sick = [c for c in rows if c.setting == setting and c.right[0] != NONE]
        calm = [c for c in rows if c.setting == setting and c.right[0] == NONE]
        if sick:
            wrong = _share(bool(c.wrong) for c in sick)
            yield f"{setting}: AC@1 {_share(c.hit for c in sick)} of {len(sick)} incidents, wrong supports in {wrong}"
        if calm:
            yield f"{setting}: silent on {_share(c.hit and not c.supported for c in calm)} of {len(calm)} healthy pairs"
    yield f"chance: 1 in {sum(h.id != NONE for h in all_hypotheses())}"


def _share(values: Iterable[bool]) -> str:
    known = list(values)
    return f"{sum(known) / len(known):.2f}"


def _counted(items: Iterable[str]) -> str:
    return ", ".join(f"{name}×{count}" for name, count in Counter(items).most_common(6))


def main() -> None:
    """Parse the arguments, run, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("faults", nargs="*", default=sorted(FAULTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--severity", type=float, default=1.0)
    parser.add_argument("--ablations", action="store_true")
    chosen = parser.parse_args()
    rows = list(cases(chosen.faults, chosen.seeds, chosen.severity, chosen.ablations))
    console = Console(width=200)
    console.print(table(rows))
    for line in summary(rows):
        console.print(line)


if __name__ == "__main__":
    main()
