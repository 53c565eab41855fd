"""The recorded incidents of `tests/data/captures`, joined once a process and diagnosed in many ways.

Only tests read `truth.json`: the cause and the windows that whoever recorded the incident wrote down.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from collector.files import read
from correlator.join.build import Joined, build
from correlator.join.symptom import find_symptom
from correlator.join.windows import trimmed, with_found_windows
from correlator.model.evidence import Evidence, Window, Windows, with_windows
from correlator.model.findings import Finding, Verdict
from correlator.model.records import Batch, Problem
from correlator.store import Store
from correlator.wiring import engine

FOLDER = Path(__file__).parent / "data" / "captures"
CAUSES = {path.parent.name: json.loads(path.read_text())["id"] for path in sorted(FOLDER.glob("*/truth.json"))}
INCIDENTS = {capture: cause for capture, cause in CAUSES.items() if cause != "none"}

EVERYTHING = frozenset({"traces.jsonl.gz", "metrics.jsonl.gz", "logs.jsonl.gz", "scrape", "vllm.log.gz"})
NO_TRACES = EVERYTHING - {"traces.jsonl.gz"}
NO_METRICS = EVERYTHING - {"metrics.jsonl.gz", "scrape"}
ENGINE_LOG = frozenset({"vllm.log.gz"})


@dataclass(frozen=True)
class Answered:
    """Evidence with windows, and the findings drawn from it, most probable first."""

    evidence: Evidence
    findings: tuple[Finding, ...]

    def finding(self, hypothesis: str) -> Finding:
        return next(f for f in self.findings if f.hypothesis == hypothesis)

    def of(self, verdict: Verdict) -> set[str]:
        return {f.hypothesis for f in self.findings if f.verdict is verdict}


def paths(capture: str, files: Iterable[str] = EVERYTHING) -> list[str]:
    return [str(FOLDER / capture / name) for name in sorted(files)]


def truth_windows(capture: str, onset_shift_s: float = 0.0) -> Windows:
    """The windows as recorded, the boundary between them moved."""
    truth = json.loads((FOLDER / capture / "truth.json").read_text())
    (start, middle), (onset, end) = truth["baseline"], truth["incident"]
    times = [int(t * 1e9) for t in (start, middle + onset_shift_s, onset + onset_shift_s, end)]
    return Windows(Window(*times[:2]), Window(*times[2:]), given=True)


@lru_cache(maxsize=32)
def joined(capture: str, files: frozenset[str] = EVERYTHING) -> Joined:
    return joined_paths(paths(capture, files))


def joined_paths(sources: list[str]) -> Joined:
    problems: list[Problem] = []
    batches: list[Batch] = []
    for item in read(sources):
        (batches if isinstance(item, Batch) else problems).append(item)  # type: ignore[arg-type]
    with Store.open() as store:
        return build(store, [*problems, *store.load(batches).problems])


@lru_cache(maxsize=64)
def answered(
    capture: str, given: bool = False, files: frozenset[str] = EVERYTHING, onset_shift_s: float = 0.0
) -> Answered:
    """A recording diagnosed; windows as recorded when `given`, else found."""
    evidence = joined(capture, files).evidence
    if given:
        evidence = with_windows(evidence, trimmed(truth_windows(capture, onset_shift_s), evidence))
        evidence = replace(evidence, symptom=find_symptom(evidence))
    else:
        evidence = with_found_windows(evidence)
    return Answered(evidence, engine().answer(evidence, attack=False).findings)
