"""What a diagnosis says in plain English, once for the terminal, Markdown and the HTML page.

The sentences claim no more than the evidence: nothing found is said together with what was looked at.
All text is cleaned here; each format still escapes it in its own way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from correlator.model.names import SIGNALS
from exporters import _numbers as n

if TYPE_CHECKING:
    from correlator.model.evidence import Coverage, Interval, Symptom
    from correlator.model.findings import Diagnosis, Experiment, Finding, PredictionResult

_STATISTICS = {"median": "Median", "p50": "Median", "p99": "99th percentile of", "p95": "95th percentile of"}
_SHARES = {
    "error": "Share of failed requests",
    "truncated": "Share of truncated answers",
    "empty_retrieval": "Share of retrievals without a document",
    "engine_down": "Share of time without a ready engine since one failed",
    "telemetry_lost_share": "Share of torn traces",
    "telemetry_refused_share": "Share of telemetry refused or dropped",
}
SHORTEST_S = 20
"""Three blocks of 10 s, the fewest that give an interval, lie in 20 s and a moment."""
HOW_TO_READ = "Most probable first, with the share of the symptom each explains and its 90% interval."
HOW_TO_COUNT = "In brackets: stretches of 10 s counted (blocks), and q, the share of false alarms at this line."
_PLACEBO = {
    None: "",
    "passed": " Comparing the two halves of the baseline does not bring it up.",
    "too little data": " The baseline is too short to try whether its two halves bring it up as well.",
}
_OUTCOMES = {"held": "held", "failed": "failed", "inconclusive": "undecided", "untestable": "not tested"}


@dataclass(frozen=True, slots=True)
class Groups:
    """Findings by what a reader does with them, each in the order of the diagnosis."""

    ranked: tuple[Finding, ...]
    refuted: tuple[Finding, ...]
    untestable: tuple[Finding, ...]


def groups(diagnosis: Diagnosis) -> Groups:
    """Supported before inconclusive, in the order of the diagnosis; *none of these* is no finding."""
    named = [f for f in diagnosis.findings if f.hypothesis != "none_of_these"]
    supported, inconclusive, refuted, untestable = (
        tuple(f for f in named if f.verdict == verdict)
        for verdict in ("supported", "inconclusive", "refuted", "untestable")
    )
    return Groups(supported + inconclusive, refuted, untestable)


def headline(diagnosis: Diagnosis) -> str:
    """The symptom in one sentence with its numbers, or that none was found."""
    if diagnosis.symptom is not None:
        return _symptom(diagnosis.symptom)
    if diagnosis.windows is None or not diagnosis.coverage.signals:
        return "Nothing could be compared, so this says nothing about whether all is well."
    if min(window.seconds for window in (diagnosis.windows.baseline, diagnosis.windows.incident)) < SHORTEST_S:
        return f"Too little time to tell: windows of {SHORTEST_S} s at least are needed, so that noise can be seen."
    return "Nothing got worse beyond noise between the two windows."


def _symptom(symptom: Symptom) -> str:
    unit = symptom.signal.unit
    before, during = symptom.baseline_value, symptom.incident_value
    where = f" at {n.clean(symptom.where, 120)}" if symptom.where else ""
    if during == before:
        return f"{_measure(symptom)}{where} stayed at {n.quantity(before, unit)}."
    moved = "rose" if during > before else "fell"
    change = "" if symptom.change.low == symptom.change.high else f", {n.effect(symptom.change)}"
    return (
        f"{_measure(symptom)}{where} {moved} from {n.quantity(before, unit)} to {n.quantity(during, unit)}{change}, "
        f"since {n.moment(symptom.onset)}."
    )


def _measure(symptom: Symptom) -> str:
    name, statistic = symptom.signal.name, symptom.statistic
    if name in _SHARES and statistic in {"mean", "share", "rate"}:
        return _SHARES[name]
    word = _STATISTICS.get(statistic) or n.clean(statistic).capitalize()
    return f"{word} {n.plain_name(name)}".strip()


def rests_on(coverage: Coverage) -> str:
    """What was looked at, and that what was not watched cannot be ruled out."""
    counted = ", ".join(f"{count:,} {n.clean(kind)}" for kind, count in coverage.records.items() if count)
    watched = ", ".join(n.plain_name(kind) for kind in sorted(coverage.watched))
    read = f"This rests on {counted or 'no records'} and {len(coverage.signals)} signals."
    if not watched:
        return f"{read} No source was present in both windows, so nothing can be ruled out."
    return f"{read} Watched in both windows: {watched}. What was not watched is not ruled out."


def windows(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Name and time of both windows, and how they came about; empty when there are none."""
    if diagnosis.windows is None:
        return []
    chosen = "as you asked" if diagnosis.windows.given else "found from the data"
    return [
        ("Baseline", n.stretch(diagnosis.windows.baseline)),
        ("Incident", n.stretch(diagnosis.windows.incident)),
        ("Windows", chosen),
    ]


def title(finding: Finding) -> str:
    """Verdict and role: `supported, root cause`."""
    roles = {"root": "root cause", "mechanism": "mechanism", "bystander": "bystander"}
    return ", ".join(filter(None, (str(finding.verdict), roles.get(str(finding.role)))))


def why(finding: Finding) -> str:
    """What the verdict rests on: the engine's reason, else what the first telling prediction read, else the claim."""
    telling = (p.reading.reason for p in finding.predictions if p.reading.outcome in {"held", "inconclusive"})
    return n.clean(finding.reason or next(telling, "") or finding.claim)


def standing(finding: Finding) -> str:
    """`supported, root cause; probability 83%; accounts for 78% (61% to 94%) of the symptom`."""
    accounts = f"accounts for {_portion(finding.share)} of the symptom" if finding.share else ""
    return "; ".join(filter(None, (title(finding), f"probability {n.percent(finding.probability)}", accounts)))


def _portion(share: Interval) -> str:
    """More than all of it: other parts shrank meanwhile, or noise."""
    return n.share(share) if share.value < 1 else f"all ({n.percent(share.low)} to {n.percent(share.high)})"


def asides(finding: Finding) -> list[str]:
    """Where it was seen, what goes with it, and what to do about it; only what is known."""
    seen = ", ".join(f"{n.clean(k, 80)} = {n.clean(v, 120)}" for k, v in list(finding.scope.items())[:8])
    via = ", ".join(n.clean(name, 80) for name in finding.via)
    remedy = n.clean(finding.remedy) if finding.verdict == "supported" else ""
    said = (
        f"Seen at: {seen}." if seen else "",
        f"Works through: {via}." if via else "",
        f"Remedy: {remedy}" if remedy else "",
    )
    return [aside for aside in said if aside]


def killers(finding: Finding) -> tuple[PredictionResult, ...]:
    """The necessary predictions that failed."""
    return tuple(p for p in finding.predictions if p.necessary and p.reading.outcome == "failed")


def killed_by(prediction: PredictionResult) -> str:
    """What was seen instead, with its numbers."""
    counted = f"[{weight(prediction)}]" if weight(prediction) else ""
    return " ".join(filter(None, (n.clean(prediction.reading.reason), counted)))


def weight(prediction: PredictionResult) -> str:
    """`14 blocks, q = 0.008`: what the numbers in a reason rest on."""
    blocks, q = prediction.reading.blocks, prediction.q_value
    known = (
        f"{blocks} block{'s' if blocks != 1 else ''}" if blocks else "",
        f"q = {n.significant(q)}" if q is not None and math.isfinite(q) else "",
    )
    return ", ".join(filter(None, known))


def numbers(prediction: PredictionResult) -> str:
    """`effect ×1.00 (0.990 to 1.01), 14 blocks, q = 0.008`; what is not known is left out."""
    reading, q = prediction.reading, prediction.q_value
    counted = f"{reading.blocks} block{'s' if reading.blocks != 1 else ''}"
    known = (
        f"effect {n.interval(reading.effect)}" if reading.effect else "",
        counted if reading.blocks else "no blocks counted",
        f"q = {n.significant(q)}" if q is not None and math.isfinite(q) else "",
    )
    return ", ".join(filter(None, known))


def outcome(prediction: PredictionResult) -> str:
    """The outcome in a word or two."""
    return _OUTCOMES[str(prediction.reading.outcome)]


def missing(finding: Finding) -> list[tuple[str, str]]:
    """Missing signals and what each means."""
    wanted = finding.missing or tuple(m for p in finding.predictions for m in p.reading.missing)
    return [(n.clean(name, 120), _meaning(name)) for name in dict.fromkeys(wanted)]


def _meaning(name: str) -> str:
    return SIGNALS[name].meaning if name in SIGNALS else ""


def next_experiment(diagnosis: Diagnosis) -> Experiment | None:
    """The one the engine chose: most information expected for its cost and risk."""
    return diagnosis.next_experiment


def stability(diagnosis: Diagnosis) -> str:
    """How often the first answer stayed first, and what moved it."""
    s = diagnosis.stability
    if not s.runs:
        return "The stability of this answer was not tested."
    onset = f", some with the onset moved by up to ±{n.quantity(s.onset_shift_s, 's')}" if s.onset_shift_s else ""
    causes = "; ".join(n.clean(cause, 200) for cause in s.changed_by[:5])
    changed = f" It changed when: {causes}." if causes else ""
    return f"The first answer stayed first in {s.top_kept} of {s.runs} re-runs{onset}.{changed}{_PLACEBO[s.placebo]}"


def unusable(coverage: Coverage) -> str:
    """What of the input could not be used, in one sentence; empty when all was."""
    lost = ", ".join(f"{count:,} {n.plain_name(kind)}" for kind, count in coverage.problems.items() if count)
    return f"Not usable in the input: {lost}." if lost else ""


def coverage_notes(coverage: Coverage) -> list[str]:
    """What was lost or odd in the input, one sentence each; empty when nothing was."""
    sampled = coverage.sampled_traces
    notes = [
        unusable(coverage),
        f"{n.percent(coverage.orphan_share)} of spans lack their parent." if coverage.orphan_share else "",
        f"{sampled:,} traces, chosen by trace id, stand for all." if sampled else "",
        f"Clocks differ by {n.quantity(coverage.clock_skew_s, 's')}." if coverage.clock_skew_s else "",
    ]
    return [note for note in notes if note] + [n.clean(message) for message in coverage.messages]
