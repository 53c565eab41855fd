"""The recorded incidents of `tests/data/captures`, read and joined once a process, diagnosed in many ways.

Only tests read `truth.json`: the cause and the windows that whoever recorded the incident wrote down.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from collector.files import read
from correlator.join.build import build
from correlator.model.evidence import Evidence, Window, Windows
from correlator.model.findings import Finding, Verdict
from correlator.model.records import Batch, Problem
from correlator.store import Store
from correlator.wiring import Request, engine, windowed

FOLDER = Path(__file__).parent / "data" / "captures"
CAUSES = {path.parent.name: json.loads(path.read_text())["id"] for path in sorted(FOLDER.glob("*/truth.json"))}
INCIDENTS = [capture for capture, cause in CAUSES.items() if cause != "none"]
HEALTHY = [capture for capture, cause in CAUSES.items() if cause == "none"]

EVERYTHING = frozenset({"traces.jsonl.gz", "metrics.jsonl.gz", "logs.jsonl.gz", "scrape", "vllm.log.gz"})
NO_TRACES = EVERYTHING - {"traces.jsonl.gz"}
NO_METRICS = EVERYTHING - {"metrics.jsonl.gz", "scrape"}
ENGINE_LOG = frozenset({"vllm.log.gz"})


@dataclass(frozen=True)
class Answered:
    """Evidence with windows, and the findings drawn from it, most probable first."""

    evidence: Evidence
    findings: tuple[Finding, ...]

    def of(self, hypothesis: str) -> Finding:
        return next(f for f in self.findings if f.hypothesis == hypothesis)

    def judged(self, *verdicts: Verdict) -> set[str]:
        return {f.hypothesis for f in self.findings if f.verdict in verdicts}

    def accuses(self, cause: str) -> bool:
        """The answer to an incident: this cause first, supported, and more likely than not."""
        first = self.findings[0]
        return first.hypothesis == cause and first.verdict is Verdict.SUPPORTED and first.probability >= 0.6


@lru_cache(maxsize=128)
def answered(
    capture: str, given: bool = False, files: frozenset[str] = EVERYTHING, onset_shift_s: float = 0.0
) -> Answered:
    """A recording diagnosed; windows as recorded where `given`, found otherwise."""
    true = true_windows(capture, onset_shift_s) if given else None
    request = Request(
        paths=[],
        baseline_window=true.baseline if true else None,
        incident_window=true.incident if true else None,
    )
    evidence = windowed(joined(capture, files), request)
    return Answered(evidence, engine().answer(evidence, attack=False).findings)


@lru_cache(maxsize=32)
def joined(capture: str, files: frozenset[str] = EVERYTHING) -> Evidence:
    """A recording joined from some of its files."""
    if len(files) == 1:
        return _joined(read_all(paths(capture, files)))
    sources = tuple(paths(capture, files))
    return _joined([item for name, item in _read_everything(capture) if name.startswith(sources)])


def read_all(sources: Sequence[str]) -> list[Batch | Problem]:
    return list(read(sources))


def paths(capture: str, files: Iterable[str] = EVERYTHING) -> list[str]:
    return [str(FOLDER / capture / name) for name in sorted(files)]


def true_windows(capture: str, onset_shift_s: float = 0.0) -> Windows:
    """The windows as recorded, the boundary between them moved."""
    truth = json.loads((FOLDER / capture / "truth.json").read_text())
    (start, middle), (onset, end) = truth["baseline"], truth["incident"]
    times = [int(t * 1e9) for t in (start, middle + onset_shift_s, onset + onset_shift_s, end)]
    return Windows(Window(*times[:2]), Window(*times[2:]), given=True)


@lru_cache(maxsize=8)
def _read_everything(capture: str) -> list[tuple[str, Batch | Problem]]:
    """Each item with the file it came from: reading announces a file before its items."""
    current: list[str] = []
    return [(current[-1], item) for item in read(paths(capture), progress=current.append)]


def _joined(items: Iterable[Batch | Problem]) -> Evidence:
    items = list(items)
    with Store.open() as store:
        store.load(item for item in items if isinstance(item, Batch))
        return build(store, [item for item in items if isinstance(item, Problem)]).evidence
