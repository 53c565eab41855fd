"""A diagnosis as Markdown, for an issue comment or an incident document.

Text from telemetry can neither break out of its place nor make links, images, HTML or mentions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from exporters import _numbers as n
from exporters import _sentences as say

if TYPE_CHECKING:
    from correlator.model.findings import Diagnosis, Finding, LedgerLine

LIMIT = 40
"""Findings of one kind, and messages, that are told in full."""
_SPECIAL = re.compile(r"[\\`*_\[\]#|~$]|^[-+=]|^\d{1,9}(?=[.)])")
_AUTOMATIC = re.compile(r"@|:(?=//)|www(?=\.)", re.IGNORECASE)
_JOINER = "\u2060"
"""Invisible; after what would start a mention or a link, it does not."""


def render(diagnosis: Diagnosis) -> str:
    """The whole diagnosis as GitHub-flavoured Markdown, ending in a newline."""
    found = say.groups(diagnosis)
    parts = (
        _symptom(diagnosis),
        _ledger(diagnosis.ledger),
        _causes(found.ranked, diagnosis.none_of_these),
        _experiment(diagnosis),
        _trust(diagnosis),
        _section(f"Refuted ({len(found.refuted)})", found.refuted, _refutation),
        _section(f"Could not be tested ({len(found.untestable)})", found.untestable, _untestable),
        [f"<sub>tollens {escape(diagnosis.version)}, {n.seconds(diagnosis.elapsed_s)}</sub>"],
    )
    return "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"


def escape(text: str) -> str:
    """Text that reads the same in Markdown and does nothing else there."""
    quiet = n.clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _AUTOMATIC.sub(rf"\g<0>{_JOINER}", _SPECIAL.sub(_guard, quiet))


def _guard(special: re.Match[str]) -> str:
    found = special.group()
    return f"{found}\\" if found.isdigit() else f"\\{found}"


def code(text: str) -> str:
    """A code span that holds any text, in a table too."""
    words = n.clean(text)
    fence = "`" * (_longest_run(words) + 1)
    room = " " if words.startswith("`") or words.endswith("`") or not words else ""
    return f"{fence}{room}{words}{room}{fence}".replace("|", "\\|")


def fenced(text: str) -> list[str]:
    """A code block that holds any text."""
    words = n.block(text)
    fence = "`" * max(3, _longest_run(words) + 1)
    return [f"{fence}sh", words, fence]


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _symptom(diagnosis: Diagnosis) -> Iterator[str]:
    yield "## Diagnosis"
    yield ""
    yield f"**{escape(say.headline(diagnosis))}**"
    yield ""
    if diagnosis.symptom is None:
        yield escape(say.rests_on(diagnosis.coverage))
        yield ""
    for name, when in say.windows(diagnosis):
        yield f"- {name}: {when}"
    if lost := say.unusable(diagnosis.coverage):
        yield f"- {escape(lost)}"


def _ledger(ledger: tuple[LedgerLine, ...]) -> Iterator[str]:
    if not ledger:
        return
    yield "### Where the time of a request went"
    yield ""
    yield from _table(("Part", "Baseline", "Incident", "Change", "Share of change"), map(_ledger_row, ledger))


def _ledger_row(line: LedgerLine) -> tuple[str, ...]:
    times = (n.quantity(line.baseline_s, "s"), n.quantity(line.incident_s, "s"))
    change = n.quantity(line.incident_s - line.baseline_s, "s", signed=True)
    share = "" if line.share is None else n.percent(line.share)
    return escape(n.plain_name(line.part)), *times, change, share


def _causes(ranked: tuple[Finding, ...], none_of_these: float) -> Iterator[str]:
    yield "### Causes"
    yield ""
    if ranked:
        head = ("", "Cause", "Verdict", "Probability", "Share of the symptom (90% interval)")
        yield from _table(head, (_cause_row(rank, f) for rank, f in enumerate(ranked[:LIMIT], 1)))
        yield ""
    else:
        yield "No cause is supported or still open."
    for finding in ranked[:LIMIT]:
        said = (n.clean(finding.claim), f"Because {say.why(finding).rstrip('.')}.", *say.asides(finding))
        yield f"- {code(finding.hypothesis)}: {escape(' '.join(said))}"
    yield from _rest(ranked)
    yield f"- None of these: {n.percent(none_of_these)}"


def _cause_row(rank: int, finding: Finding) -> tuple[str, ...]:
    share, verdict = n.share(finding.share), say.title(finding)
    return str(rank), code(finding.hypothesis), verdict, n.percent(finding.probability), share


def _section(title: str, findings: tuple[Finding, ...], tell: Callable[[Finding], Iterator[str]]) -> Iterator[str]:
    if not findings:
        return
    yield f"### {title}"
    yield ""
    for finding in findings[:LIMIT]:
        yield f"- {code(finding.hypothesis)}: {'; '.join(tell(finding)) or escape(say.why(finding))}"
    yield from _rest(findings)


def _rest(findings: tuple[Finding, ...]) -> Iterator[str]:
    if len(findings) > LIMIT:
        names = ", ".join(code(finding.hypothesis) for finding in findings[LIMIT:])
        yield f"- and {len(findings) - LIMIT} more: {names}"


def _refutation(finding: Finding) -> Iterator[str]:
    for killer in say.killers(finding):
        yield f"expected: {escape(killer.statement)}. Seen: {escape(say.killed_by(killer))}"


def _untestable(finding: Finding) -> Iterator[str]:
    for name, meaning in say.missing(finding):
        yield f"missing {code(name)}" + (f" ({escape(meaning)})" if meaning else "")
    if finding.experiment:
        yield f"to get it: {code(finding.experiment.command)}"


def _trust(diagnosis: Diagnosis) -> Iterator[str]:
    yield "### How far to trust this"
    yield ""
    yield f"- {escape(say.stability(diagnosis))}"
    if diagnosis.symptom is not None:
        yield f"- {escape(say.rests_on(diagnosis.coverage))}"
    for note in say.coverage_notes(diagnosis.coverage)[:LIMIT]:
        yield f"- {escape(note)}"


def _experiment(diagnosis: Diagnosis) -> Iterator[str]:
    experiment = say.next_experiment(diagnosis)
    if experiment is None:
        return
    yield "### Next experiment"
    yield ""
    yield escape(experiment.why)
    yield ""
    yield from fenced(experiment.command)
    yield ""
    yield f"Expect: {escape(experiment.expect)}"
