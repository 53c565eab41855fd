"""A public incident report as a value: what was at hand, which cause was agreed, and who was suspected wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from correlator.model.evidence import Kind, Window
from correlator.model.findings import Diagnosis, Finding, Verdict
from correlator.wiring import Request, diagnose
from tests.cases.inputs import CHANGE, END
from tests.correlator.join.telemetry import at

Files = Mapping[str, str | bytes]
NOTHING = "none_of_these"
NEAR_THE_TOP = 3
TESTED = frozenset({Verdict.REFUTED, Verdict.INCONCLUSIVE})
"""What clears a suspect, or says that the evidence decides nothing; *untestable* says nothing of it."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report of the collection, by its number there.

    `cause` is the agreed one, "" where the report only clears its suspects. `suspects` must not be supported. One set
    of `files` is compared around `change` seconds; `before` is the other run of a comparison. `asked` is the kind of
    symptom that the reporter complains of, where the figures alone may mean several. `fails` says why a report does
    not hold today.

    `decisive`: what the report itself tells, and `files` contain, settles the cause, so that it must be first;
    else it must be among the first three. It settles it in one of two ways. A line, an event or a field says
    what went wrong in words that only this cause has: an error text, a reason that is set, a limit that was met. Or
    the quantity that the cause is about was read beside what is complained of, and is told to have changed with it;
    the figures may be ours, the change may not. It does not where the cause was found in source code, settings, a
    profiler or by a repair, or where how cause or symptom moved is ours. The product's answer has no say in it.
    """

    id: str
    agree: int
    cause: str
    suspects: tuple[str, ...]
    files: Callable[[], Files]
    before: Callable[[], Files] | None = None
    decisive: bool = False
    change: float = CHANGE
    end: float = END
    asked: Kind | None = None
    fails: str = ""


@dataclass(frozen=True)
class Answer:
    """What the product said of a report."""

    report: Report
    diagnosis: Diagnosis

    @property
    def causes(self) -> list[Finding]:
        """Findings that name a cause, most probable first."""
        return [finding for finding in self.diagnosis.findings if finding.hypothesis != NOTHING]

    @property
    def supported(self) -> set[str]:
        return {finding.hypothesis for finding in self.causes if finding.verdict is Verdict.SUPPORTED}

    @property
    def silent(self) -> bool:
        """Nothing was said: no symptom was found, or not one cause could be tested."""
        return self.diagnosis.symptom is None or all(f.verdict is Verdict.UNTESTABLE for f in self.causes)

    def of(self, cause: str) -> Finding:
        """What was found of a cause."""
        return next(finding for finding in self.causes if finding.hypothesis == cause)

    def place(self, cause: str) -> int:
        """The cause's place among the causes, from 1, behind all that are as probable; a refuted one is the last."""
        own = self.of(cause)
        if own.verdict is Verdict.REFUTED:
            return len(self.causes)
        return sum(finding.probability >= own.probability for finding in self.causes)

    def holds_for(self, report: Report) -> bool:
        """Is this the answer that the report asks for? One that says nothing, of all or of those to clear, is none."""
        if self.silent or self.supported & set(report.suspects):
            return False
        if not report.cause:
            return all(self.of(suspect).verdict in TESTED for suspect in report.suspects)
        return self.place(report.cause) <= (1 if report.decisive else NEAR_THE_TOP)

    @property
    def holds(self) -> bool:
        return self.holds_for(self.report)


def answer(report: Report) -> Answer:
    """The diagnosis of the report's files."""
    with TemporaryDirectory() as folder:
        after = _written(Path(folder, "after"), report.files())
        if report.before is not None:
            before = _written(Path(folder, "before"), report.before())
            asked = Request(paths=[after], baseline=[before], symptom=report.asked)
        else:
            windows = Window(at(0), at(report.change)), Window(at(report.change), at(report.end))
            asked = Request(paths=[after], baseline_window=windows[0], incident_window=windows[1], symptom=report.asked)
        return Answer(report, diagnose(asked))


def _written(folder: Path, files: Files) -> str:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder)
