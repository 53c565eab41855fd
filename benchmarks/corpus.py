"""Simulated incidents and what the hypotheses said of each, as JSON lines: what calibration and scores are made of.

    python -m benchmarks.corpus OUT.jsonl [FAULT ...] [--seeds 0:10] [--worlds recorded] [--patterns given,found]

An incident that OUT holds already is not simulated again, so a run can be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.lab import FAULTS, write_capture
from benchmarks.lab.patterns import PATTERNS, Pattern
from benchmarks.lab.worlds import WORLDS
from collector.files import Options, read
from correlator.join.build import build
from correlator.model.evidence import Evidence, Window
from correlator.model.findings import Finding, Verdict
from correlator.model.records import Batch
from correlator.store import Store
from correlator.wiring import Request, engine, windowed
from hypotheses._engine import is_well

NONE = "none_of_these"
RENEWED = 50
"""Incidents after which a process is replaced: the engine keeps about 10 MB of each store that was opened."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of one cause; `outcomes` by prediction; `doubted` where these say nothing of it."""

    verdict: str
    probability: float
    role: str | None
    share: float | None
    outcomes: Mapping[str, str]
    doubted: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """One diagnosis. `right` are the causes that would be right, the root first and then those that the lab declares as
    right beside it; `truths` those at work, of which two are to be found where two are; `error` where there was none.
    `well`: nothing got worse, and it would have been seen.
    """

    fault: str
    seed: int
    world: str
    severity: float
    pattern: str
    right: tuple[str, ...]
    symptom: bool
    findings: Mapping[str, Told]
    error: str = ""
    truths: tuple[str, ...] = ()
    well: bool = False

    @property
    def key(self) -> tuple[str, int, str, float, str]:
        """What tells it from the others."""
        return self.fault, self.seed, self.world, self.severity, self.pattern

    @property
    def incident(self) -> tuple[str, int]:
        """What was simulated. A fault and a seed are one draw of chance, in whatever world and however it is seen."""
        return self.fault, self.seed


Work = tuple[str, int, str]


def seen(work: Work, severity: float, patterns: Sequence[str]) -> list[Seen]:
    """Simulate one incident and diagnose what each pattern leaves of it; what is read alike is read once."""
    fault, seed, world = work
    with tempfile.TemporaryDirectory(prefix="tollens-lab-") as name:
        folder = Path(name)
        write_capture(WORLDS[world](FAULTS[fault](severity)), folder, seed)
        truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        right = (NONE if truth["id"] == "none" else truth["id"], *truth["also"])
        windows = tuple(Window(*(int(moment * 1e9) for moment in truth[name])) for name in ("baseline", "incident"))
        truths = () if right[0] == NONE else tuple(truth["truths"])
        of = partial(Seen, fault, seed, world, severity, right=right, truths=truths)
        out = []
        for _, group in itertools.groupby(patterns, key=lambda pattern: PATTERNS[pattern].paths):
            names = list(group)
            try:
                evidence = _evidence(PATTERNS[names[0]].paths(folder), windows[0].start)
                out += [_judged(of, pattern, evidence, windows) for pattern in names]
            except Exception as error:  # a crash is a wrong answer to be counted, not the end of an hour's run
                out += [of(pattern=pattern, symptom=False, findings={}, error=repr(error)) for pattern in names]
        return out


def _evidence(paths: Sequence[Path], near: int) -> Evidence:
    with Store.open() as store:
        store.load(
            item for item in read([str(p) for p in paths], Options(near_unix_nano=near)) if isinstance(item, Batch)
        )
        return build(store, []).evidence


def _judged(of: partial[Seen], pattern: str, evidence: Evidence, windows: tuple[Window, ...]) -> Seen:
    asked = told(PATTERNS[pattern], windows)
    evidence = windowed(evidence, Request(paths=(), baseline_window=asked[0], incident_window=asked[1]))
    return answered(partial(of, pattern=pattern), evidence)


def told(pattern: Pattern, windows: Sequence[Window]) -> tuple[Window | None, Window | None]:
    """The windows that somebody gives: these, none, or those of an onset that is wrong, before which all was well."""
    baseline, incident = windows
    if not pattern.given:
        return None, None
    if not pattern.onset_s:
        return baseline, incident
    onset = incident.start + int(pattern.onset_s * 1e9)
    return Window(baseline.start, onset), Window(onset, incident.end)


def answered(of: Callable[..., Seen], evidence: Evidence) -> Seen:
    """What is said of evidence with its windows, kept so that it can be weighed anew."""
    answer = engine().answer(evidence, attack=False)
    findings = {finding.hypothesis: _told(finding) for finding in answer.findings}
    return of(symptom=evidence.symptom is not None, findings=findings, well=is_well(evidence))


def _told(finding: Finding) -> Told:
    share = finding.share.value if finding.share else None
    outcomes = {p.id: str(p.reading.outcome) for p in finding.predictions}
    role = str(finding.role) if finding.role else None
    return Told(str(finding.verdict), finding.probability, role, share, outcomes, finding.doubted)


def load(path: Path) -> list[Seen]:
    """The corpus in a file, in a fixed order; empty where there is no file. ValueError names a line that is amiss."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return sorted((_parsed(line, f"{path}:{n}") for n, line in enumerate(lines, 1)), key=lambda one: one.key)


def _parsed(line: str, place: str) -> Seen:
    try:
        told = json.loads(line)
        findings = {name: Told(**finding) for name, finding in told.pop("findings").items()}
        causes = {name: tuple(told.get(name, ())) for name in ("right", "truths")}
        return Seen(**{**told, **causes}, findings=findings)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{place}: not a diagnosis as benchmarks.corpus writes it: {error!r}") from error


def grown(path: Path, works: Sequence[Work], severity: float, patterns: Sequence[str], jobs: int) -> Iterator[Seen]:
    """Simulate what the file lacks and write it there, a line each as it comes."""
    known = {one.key for one in load(path)}
    lacking = [(*w,) for w in works if any((*w, severity, pattern) not in known for pattern in patterns)]
    with (
        path.open("a", encoding="utf-8") as out,
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=RENEWED) as pool,
    ):
        for group in pool.map(partial(seen, severity=severity, patterns=patterns), lacking):
            for one in (one for one in group if one.key not in known):
                out.write(json.dumps(asdict(one)) + "\n")
                out.flush()
                yield one


def span(text: str) -> range:
    """`3:7` → 3, 4, 5, 6; `5` → 0 to 4."""
    first, colon, last = text.rpartition(":")
    return range(int(first) if colon else 0, int(last))


def main() -> None:
    """Parse the arguments, simulate, say how far it is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("faults", nargs="*", default=sorted(FAULTS))
    parser.add_argument("--seeds", type=span, default=range(10))
    parser.add_argument("--worlds", type=lambda text: text.split(","), default=["recorded"])
    parser.add_argument("--patterns", type=lambda text: text.split(","), default=["given", "found"])
    parser.add_argument("--severity", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    works = [(f, seed, w) for seed in chosen.seeds for w in chosen.worlds for f in chosen.faults]
    for one in grown(chosen.out, works, chosen.severity, chosen.patterns, chosen.jobs):
        first = max(one.findings, key=lambda name: one.findings[name].probability, default=one.error)
        supported = {name for name, told in one.findings.items() if told.verdict == Verdict.SUPPORTED}
        lacking = sorted(set(one.truths) - supported)
        print(
            *one.key,
            "right" if first in one.right else f"WRONG: {first}",
            *(["not supported:", *lacking] if lacking else []),
            flush=True,
        )


if __name__ == "__main__":
    main()
