"""What a notice says in words: one sentence, the causes in order, how grave it is. The same in all exporters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from correlator.model.notices import Change, Notice, findings, told
from correlator.model.periods import Kind
from exporters._contract import ExporterSettings
from exporters._templates import rendered

CAUSES = 5
"""Causes that a message names."""
NONE_OF_THESE = "none_of_these"
GRAVE, GRAVEST = 2.0, 4.0
"""Multiples of the smallest effect worth naming, or of an objective's limit, from which on to call it grave."""

_VERBS = {Change.OPENED: "Opened", Change.UPDATED: "Updated", Change.RESOLVED: "Resolved"}


def summary(notice: Notice, settings: ExporterSettings, at_most: int) -> str:
    """One line: the template's where one is configured, else what happened and the most probable cause."""
    if settings.summary_template is not None:
        text = rendered(settings.summary_template, told(notice))
    else:
        text = f"{_VERBS[notice.change]}: {notice.incident.title}. {_first(notice)}"
    return shortened(" ".join(text.split()), at_most)


def causes(notice: Notice) -> list[str]:
    """The causes that are neither refuted nor untestable, most probable first, a line each."""
    return [_line(finding) for finding in _standing(notice)][:CAUSES]


def refuted(notice: Notice) -> list[str]:
    """The ids of the hypotheses that the notice names as refuted."""
    return [str(finding["hypothesis"]) for finding in findings(notice) if finding["verdict"] == "refuted"]


def remedy(notice: Notice) -> str:
    """What helps against the most probable supported cause; empty without one."""
    supported = (finding for finding in findings(notice) if finding["verdict"] == "supported")
    return str(next(supported, {}).get("remedy") or "")


def symptom(notice: Notice) -> str:
    """What got worse; an alert need not tell."""
    return notice.incident.kind or "unknown"


def is_grave(notice: Notice) -> bool:
    """The service is down, or the symptom is far beyond what makes one."""
    return notice.incident.kind is Kind.AVAILABILITY or notice.incident.severity >= GRAVEST


def level(notice: Notice) -> str:
    """`critical`, `error` or `warning`."""
    if is_grave(notice):
        return "critical"
    return "error" if notice.incident.severity >= GRAVE else "warning"


def shortened(text: str, at_most: int) -> str:
    """The text, its end replaced by an ellipsis where it is longer. Counted in UTF-16, as receivers may do."""
    units = text.encode("utf-16-le", errors="replace")
    if len(units) <= 2 * at_most:
        return text
    return units[: 2 * (at_most - 1)].decode("utf-16-le", errors="ignore") + "…"


def _first(notice: Notice) -> str:
    if notice.incident.merged_into is not None:
        return f"It is part of incident {notice.incident.merged_into}."
    if notice.change is Change.RESOLVED and notice.incident.note:
        return notice.incident.note
    if notice.incident.diagnosis is None:
        return "Not diagnosed yet."
    supported = [finding for finding in _standing(notice) if finding["verdict"] == "supported"]
    if not supported:
        return "No cause is supported by the evidence."
    return f"Most probable cause: {_line(supported[0])}"


def _standing(notice: Notice) -> list[Mapping[str, Any]]:
    return [f for f in findings(notice) if f["verdict"] in ("supported", "inconclusive")]


def _line(finding: Mapping[str, Any]) -> str:
    probability = finding.get("probability")
    percent = "?" if probability is None else f"{probability:.0%}"
    name = "none of the known causes" if finding["hypothesis"] == NONE_OF_THESE else finding["hypothesis"]
    text = f"{name}, {percent}, {finding['verdict']}"
    return f"{text}: {finding['claim']}" if finding.get("claim") else text
