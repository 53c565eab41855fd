"""A diagnosis on a terminal, readable from 60 columns on, with or without colour.

Words carry the meaning and colour only repeats it. Text from telemetry is never parsed as markup and
never reaches the terminal as a control sequence; what the console's encoding lacks becomes "?".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.panel import Panel
from rich.text import Text

from exporters import _numbers as n
from exporters import _sentences as say

if TYPE_CHECKING:
    from rich.console import Console

    from correlator.model.findings import Diagnosis, Finding, LedgerLine

LIMIT = 12
"""Findings of one kind that are told in full; the others are named."""
_STYLES = {"supported": "bold green", "inconclusive": "yellow"}
_MAX_WIDTH = 120
_ASCII = str.maketrans({"×": "x", "±": "+/-", "µ": "u", "…": "..."})


def render(diagnosis: Diagnosis, console: Console) -> None:
    """Print the whole diagnosis: symptom, ledger, causes, what was refuted and what could not be tested."""
    found = say.groups(diagnosis)
    page = _Page(console)
    _symptom(page, diagnosis)
    _ledger(page, diagnosis.ledger)
    _ranking(page, found.ranked, diagnosis.none_of_these)
    _told(page, "Refuted", "red", found.refuted, _refutation)
    _told(page, "Could not be tested", "yellow", found.untestable, _untestable)
    _coverage(page, diagnosis)
    _experiment(page, diagnosis)


class _Page:
    """Writes cleaned text to the console in the shapes this report uses."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, _MAX_WIDTH)

    def text(self, words: str, style: str = "") -> Text:
        encoding = self.console.encoding
        if self.console.options.ascii_only:
            words = words.translate(_ASCII)
        return Text(words.encode(encoding, "replace").decode(encoding), style=style)

    def heading(self, words: str) -> None:
        self.console.print()
        self.console.print(self.text(words, "bold"))

    def line(self, words: str, style: str = "", indent: int = 2) -> None:
        for line in self.text(words, style).wrap(self.console, self.width - indent):
            line.rstrip()
            self.console.print(Text(" " * indent) + line, no_wrap=True)

    def columns(self, cells: Iterable[tuple[str, int]], style: str = "") -> None:
        """Cells of fixed width, to the right where the width is negative; cut where the console ends."""
        words = "  ".join(_sized(cell, width) for cell, width in cells)
        text = self.text("  " + words.rstrip(), style)
        text.truncate(self.width)
        self.console.print(text, no_wrap=True)


def _sized(cell: str, width: int) -> str:
    if width >= 0:
        return set_cell_size(cell, width)
    return " " * max(0, -width - cell_len(cell)) + cell


def _symptom(page: _Page, diagnosis: Diagnosis) -> None:
    page.heading("Symptom")
    page.line(say.headline(diagnosis))
    if diagnosis.symptom is None:
        page.line(say.rests_on(diagnosis.coverage))
    for name, when in say.windows(diagnosis):
        page.line(f"{name}: {when}.", "dim")
    if lost := say.unusable(diagnosis.coverage):
        page.line(f"{lost} More under: How far to trust this.", "yellow")


def _ledger(page: _Page, ledger: tuple[LedgerLine, ...]) -> None:
    if not ledger:
        return
    page.heading("Where the time of a request went")
    widths = (14, -9, -9, -9, -7)
    room = page.width - 2 - sum(abs(w) + 2 for w in widths)
    head = ("Part", "Baseline", "Incident", "Change", "Share", "")
    page.columns(zip(head, (*widths, room), strict=True), "dim")
    scale = max((t for line in ledger for t in (line.baseline_s, line.incident_s)), default=0.0)
    for line in ledger:
        page.columns(zip((*_ledger_cells(line), _bar(page, line, scale, room)), (*widths, room), strict=True))
    kept, more, less = _marks(page)
    page.line(f"Bars: {kept} as before, {more} added, {less} gone. Share: of the whole change.", "dim")
    page.line("Remainder: seen in the whole, in none of the parts.", "dim")


def _ledger_cells(line: LedgerLine) -> tuple[str, ...]:
    change = n.quantity(line.incident_s - line.baseline_s, "s", signed=True)
    share = "" if line.share is None else n.percent(line.share)
    before, during = n.quantity(line.baseline_s, "s"), n.quantity(line.incident_s, "s")
    return n.plain_name(line.part), before, during, change, share


def _marks(page: _Page) -> tuple[str, str, str]:
    return ("#", "+", "-") if page.console.options.ascii_only else ("█", "▒", "·")


def _bar(page: _Page, line: LedgerLine, scale: float, room: int) -> str:
    cells = [round(max(0.0, t) / scale * room) if scale > 0 else 0 for t in (line.baseline_s, line.incident_s)]
    kept, more, less = _marks(page)
    return kept * min(cells) + (more if cells[1] > cells[0] else less) * abs(cells[1] - cells[0])


def _ranking(page: _Page, ranked: tuple[Finding, ...], none_of_these: float) -> None:
    page.heading("Causes")
    if not ranked:
        page.line("No cause is supported or still open.")
    else:
        page.line(say.HOW_TO_READ, "dim")
    for rank, finding in enumerate(ranked[:LIMIT], 1):
        _cause(page, rank, finding)
    _rest(page, ranked)
    page.line(f"None of these: {n.percent(none_of_these)}.")


def _cause(page: _Page, rank: int, finding: Finding) -> None:
    page.line(f"{rank}. {n.clean(finding.hypothesis)}", _STYLES.get(str(finding.verdict), ""))
    page.line(n.clean(finding.claim), indent=5)
    page.line(f"{n.capital(say.standing(finding))}.", indent=5)
    page.line(f"Because {say.why(finding)}", indent=5)
    for words in say.asides(finding):
        page.line(words, "dim", indent=5)


def _told(
    page: _Page,
    heading: str,
    style: str,
    findings: tuple[Finding, ...],
    tell: Callable[[_Page, Finding], None],
) -> None:
    if not findings:
        return
    page.heading(f"{heading} ({len(findings)})")
    if tell is _refutation:
        page.line(say.HOW_TO_COUNT, "dim")
    for finding in findings[:LIMIT]:
        page.line(n.clean(finding.hypothesis), style)
        tell(page, finding)
    _rest(page, findings)


def _rest(page: _Page, findings: tuple[Finding, ...]) -> None:
    if len(findings) > LIMIT:
        names = ", ".join(n.clean(f.hypothesis, 80) for f in findings[LIMIT:])
        page.line(f"And {len(findings) - LIMIT} more: {names}.")


def _refutation(page: _Page, finding: Finding) -> None:
    for killer in say.killers(finding)[:1]:
        page.line(f"Expected: {n.clean(killer.statement)}", indent=4)
        page.line(f"Seen: {say.killed_by(killer)}", indent=4)
    if not say.killers(finding):
        page.line(say.why(finding), indent=4)


def _untestable(page: _Page, finding: Finding) -> None:
    page.line(f"Probability {n.percent(finding.probability)}", indent=4)
    for (name, meaning), *others in filter(None, [say.missing(finding)]):
        page.line(f"Missing: {name} ({meaning})" if meaning else f"Missing: {name}", indent=4)
        if others:
            page.line(f"Also missing: {', '.join(other for other, _ in others)}", "dim", indent=4)
    if not say.missing(finding):
        page.line(say.why(finding), indent=4)
    if finding.experiment:
        page.line(f"To get it: {n.clean(finding.experiment.command)}", indent=4)


def _coverage(page: _Page, diagnosis: Diagnosis) -> None:
    page.heading("How far to trust this")
    page.line(say.stability(diagnosis))
    if diagnosis.symptom is not None:
        page.line(say.rests_on(diagnosis.coverage))
    notes = say.coverage_notes(diagnosis.coverage)
    for note in notes[:LIMIT]:
        page.line(note)
    if len(notes) > LIMIT:
        page.line(f"And {len(notes) - LIMIT} more messages.")


def _experiment(page: _Page, diagnosis: Diagnosis) -> None:
    experiment = say.next_experiment(diagnosis)
    if experiment is None:
        return
    page.heading("Next experiment")
    page.line(n.clean(experiment.why))
    _command(page, n.block(experiment.command))
    page.line(f"Expect: {n.clean(experiment.expect)}")


def _command(page: _Page, command: str) -> None:
    """In a box, or bare and unbroken where the box would break it: it must survive copying."""
    text = page.text(command)
    if max(map(cell_len, text.plain.splitlines()), default=0) > page.width - 4:
        page.console.print("", text, "", sep="\n", soft_wrap=True)
    else:
        frame = box.ASCII if page.console.options.ascii_only else box.ROUNDED
        page.console.print(Panel(text, box=frame, width=page.width))
