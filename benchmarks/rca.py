"""What the benchmarks on recorded microservices share: from OTLP to an answer, and whether it names the culprit."""

from __future__ import annotations

import argparse
import re
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from correlator.join.build import build
from correlator.model.evidence import Evidence, Symptom
from correlator.model.findings import Finding, Verdict
from correlator.model.records import Batch
from correlator.store import Store
from correlator.wiring import Request, engine, windowed

SHARED = Path(__file__).parents[2] / "shared" / "data" / "rca"
AMONG = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of a fault `kind` of `culprit`, which is "" where nothing is wrong. `symptom` is in words, ""
    where nothing got worse. `scoped`: the culprit is a value of the first finding's scope; `named`: it stands anywhere
    in the first three findings.
    """

    culprit: str
    kind: str
    symptom: str
    first: str
    scope: Mapping[str, str]
    supported: tuple[str, ...]
    verdicts: Mapping[Verdict, int]
    scoped: bool
    named: bool

    @property
    def silent(self) -> bool:
        """No symptom, and no cause supported."""
        return not self.symptom and not self.supported


def arguments(name: str, about: str | None, usual: Path) -> argparse.ArgumentParser:
    """The command's one argument: an archive, the usual one without it."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument("archive", nargs="?", type=Path, default=usual)
    return parser


def at_hand(archive: Path) -> bool:
    """Is the archive there? Says in one line that its benchmark is skipped where it is not."""
    if not archive.is_file():
        print(f"skipped: {archive.name} is not at hand (../shared/data/rca beside this checkout)")
    return archive.is_file()


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """The archive's files in a folder, for a while."""
    with tempfile.TemporaryDirectory(prefix="tollens-rca-") as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        yield Path(folder)


def evidence_of(telemetry: Iterable[Batch]) -> Evidence:
    """What the product joins of OTLP, without windows."""
    with Store.open() as store:
        store.load(telemetry)
        return build(store, []).evidence


def answered(evidence: Evidence, request: Request, kind: str = "", culprits: Sequence[str] = ()) -> Answer:
    """The diagnosis, held against the names that would be right; the first of them is the culprit."""
    evidence = windowed(evidence, request)
    findings = engine().answer(evidence, attack=False).findings
    return Answer(
        culprit=culprits[0] if culprits else "",
        kind=kind,
        symptom=_told(evidence.symptom) if evidence.symptom else "",
        first=findings[0].hypothesis,
        scope=findings[0].scope,
        supported=tuple(f.hypothesis for f in findings if f.verdict is Verdict.SUPPORTED),
        verdicts=Counter(f.verdict for f in findings),
        scoped=any(value in culprits for value in findings[0].scope.values()),
        named=any(names(finding, culprit) for finding in findings[:AMONG] for culprit in culprits),
    )


def _told(symptom: Symptom) -> str:
    sign = "×" if symptom.change.unit == "ratio" else "+"
    return f"{symptom.statistic} {symptom.signal.name} {sign}{symptom.change.value:.2f}"


def names(finding: Finding, name: str) -> bool:
    """Does a service, pod or node stand, as a whole, in a finding's scope, claim, reason or readings?"""
    texts = [*finding.scope.values(), finding.claim, finding.reason, *(p.reading.reason for p in finding.predictions)]
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(whole.search(text) for text in texts)


def shares(answers: Sequence[Answer], candidates: int, published: str = "") -> Iterator[str]:
    """Lines that say how often the culprit was found, beside chance."""
    total, beside = len(answers), f"by chance {1 / candidates:.2f}, 1 in {candidates}{published}"
    yield f"culprit in the first finding's scope: {_share(answers, lambda a: a.scoped)} ({beside})"
    yield f"culprit anywhere in the first {AMONG} findings: {_share(answers, lambda a: a.named)}"
    yield f"a symptom was seen: {_share(answers, lambda a: bool(a.symptom))}"
    untestable = sum(a.verdicts.get(Verdict.UNTESTABLE, 0) for a in answers) / max(total, 1)
    causes = sum(sum(a.verdicts.values()) for a in answers) / max(total, 1)
    yield f"untestable, of {causes:.0f} causes: {untestable:.1f} on average"
    supported = Counter(name for a in answers for name in a.supported)
    yield f"supported: {', '.join(f'{name}×{count}' for name, count in supported.most_common()) or 'nothing'}"


def _share(answers: Sequence[Answer], holds: Callable[[Answer], bool]) -> str:
    found = sum(map(holds, answers))
    return f"{found} of {len(answers)} = {found / max(len(answers), 1):.2f}"
