"""Recorded A/B pairs of one H100 against their truth: `python -m benchmarks.h100 [FOLDER …]`.

A folder holds pairs, unpacked or as `.tar.xz`, each with `before/`, `after/` and `truth.json`. Without one, those of
`../shared/data/h100-pairs` are taken, else the two of the tests. The pairs are from vLLMBatchingMemoryGap (Apache-2.0).
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from correlator.model.findings import Verdict
from correlator.wiring import Request, diagnose

NONE = "none"
HOME = Path(__file__).parents[1]
SHARED, OWN = HOME.parent / "shared" / "data" / "h100-pairs", HOME / "tests" / "data" / "h100-pairs"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out for a pair. `symptom` is in words, "" where nothing got worse."""

    pair: str
    truth: str
    symptom: str
    first: str
    probability: float
    supported: tuple[str, ...]
    wrong: tuple[str, ...]
    """Supported although the truth says that it must not be."""

    @property
    def right(self) -> bool:
        """The cause is first, no innocent is accused; where nothing differs, nothing is said."""
        if self.truth == NONE:
            return not self.symptom and not self.supported
        return self.first == self.truth and not self.wrong


def pairs(folder: Path) -> list[Path]:
    """The pairs in a folder, packed or not, by name."""
    unpacked = [path.parent for path in folder.glob("*/truth.json")]
    return sorted([*folder.glob("*.tar.xz"), *unpacked], key=lambda path: path.name)


@contextmanager
def unpacked(pair: Path) -> Iterator[Path]:
    """The folder of a pair, for a while."""
    if pair.is_dir():
        yield pair
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(pair) as archive:
            archive.extractall(folder, filter="data")
        yield next(Path(folder).glob("*/truth.json")).parent


def answer(pair: Path) -> Answer:
    """One pair diagnosed as `tollens diagnose after --baseline before` does, and held against its truth."""
    with unpacked(pair) as folder:
        truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        found = diagnose(Request(paths=[str(folder / "after")], baseline=[str(folder / "before")]))
    supported = tuple(f.hypothesis for f in found.findings if f.verdict is Verdict.SUPPORTED)
    symptom = found.symptom
    told = f"{symptom.statistic} {symptom.signal.name} ×{symptom.change.value:.2f}" if symptom else ""
    innocent = set(supported) if truth["id"] == NONE else set(truth["not_supported"])
    return Answer(
        pair=pair.name.removesuffix(".tar.xz"),
        truth=truth["id"],
        symptom=told,
        first=found.findings[0].hypothesis,
        probability=found.findings[0].probability,
        supported=supported,
        wrong=tuple(sorted(set(supported) & innocent)),
    )


def main() -> None:
    """All pairs, as a table, with the share that is right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.h100", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders or [SHARED if SHARED.is_dir() else OWN]
    answers = [answer(pair) for folder in folders for pair in pairs(folder)]
    if not answers:
        parser.error(f"no pairs in {', '.join(map(str, folders))}: expected folders with truth.json, or .tar.xz")
    show(answers)


def show(answers: Sequence[Answer]) -> None:
    """Print the table."""
    table = Table(title="Recorded H100 pairs")
    for column in ("pair", "truth", "symptom", "first", "supported", "right"):
        table.add_column(column)
    for a in answers:
        first = f"{a.first} {a.probability:.0%}"
        table.add_row(a.pair, a.truth, a.symptom or "none", first, ", ".join(a.supported), "yes" if a.right else "NO")
    Console(width=200).print(table)
    causes = {a.truth for a in answers} | {NONE}
    right = sum(a.right for a in answers)
    print(f"right: {right} of {len(answers)} (by chance among these {len(causes)} answers: 1 in {len(causes)})")


if __name__ == "__main__":
    main()
