"""What an alert tells, in the watcher's words: which kind of symptom, where, and since when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from correlator.model.alerts import Alert, Outcome, Taken
from correlator.model.incidents import ENGINE, Incident, State
from correlator.model.periods import Kind, Window, Windows
from correlator.watch.sighting import ALERT, Condition, Sighting, family

SYMPTOM, WHERE = "tollens_symptom", "tollens_where"
"""Labels that say kind and service outright."""
OWN = "Tollens"
"""What names of alerts about Tollens, and of the incidents it sends to Alertmanager, begin with."""
LONGEST_NAME = 100
LONGEST_TITLE = 200
WORDS = {
    Kind.AVAILABILITY: r"unavailab|availability|\bdown\b|absent|unreachable|not ready|outage",
    Kind.ERRORS: r"error(?! budget)|\b5xx|fail|exception|abort|reject",
    Kind.LATENCY: r"latenc|slow|duration|time to first|ttft|tpot|\bitl\b|\bp9\d|timeout|response time|queue time|delay",
    Kind.THROUGHPUT: r"throughput|tokens per second|goodput",
    Kind.QUALITY: r"quality|truncat|hallucinat|empty retriev|empty answer|recall|relevance",
}
"""Words by which alerts are usually named; of several, the one that comes first counts."""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from None
    return text


Pattern = Annotated[str, Field(max_length=200), AfterValidator(_pattern)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Rule(_Section):
    """An alert all of whose labels named here match, as a whole, tells of this symptom."""

    labels: dict[str, Pattern] = Field(min_length=1, max_length=20)
    symptom: Kind


class AlertSettings(_Section):
    """The section `alerts`."""

    symptoms: tuple[Rule, ...] = Field(default=(), max_length=100, description="The first that matches counts.")
    lead_s: float = Field(
        default=600, gt=0, le=7_200, description="The symptom began at most so many seconds before its alert."
    )


def kind_of(alert: Alert, rules: Sequence[Rule]) -> Kind | None:
    """By the label `tollens_symptom`, else by the first rule that matches, else by words; None when nothing tells."""
    said = alert.labels.get(SYMPTOM, "")
    if said in set(Kind):
        return Kind(said)
    for rule in rules:
        if all(re.fullmatch(pattern, alert.labels.get(name, "")) for name, pattern in rule.labels.items()):
            return rule.symptom
    return _by_words(alert.name) or _by_words(alert.summary)


def _by_words(text: str) -> Kind | None:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-:.]+", " ", text).lower()
    places = {kind: found.start() for kind, words in WORDS.items() if (found := re.search(words, spaced))}
    return min(places, key=lambda kind: places[kind], default=None)


def sighting(
    alert: Alert,
    known: Incident | None,
    settings: AlertSettings,
    baseline_s: float,
    now: int,
    place: str | None,
) -> Sighting:
    """The alert as the watcher sees it; `known` is the open incident that it is part of, `place` what its labels name.

    The baseline ends `lead_s` before the alert, since it may have been bad from then on.
    """
    starts = min(alert.starts, now)
    before = max(0, starts - int(settings.lead_s * 1e9))
    baseline = Window(max(0, before - int(baseline_s * 1e9)), before)
    where = known.where if known else alert.labels.get(WHERE) or place or ENGINE
    return Sighting(
        detector=ALERT + alert.name[:LONGEST_NAME],
        kind=known.kind if known else kind_of(alert, settings.symptoms),
        where=where,
        condition=Condition.WORSE,
        windows=Windows(baseline, Window(starts, max(starts, now)), given=True),
        severity=1.0,
        title=f"{where}: {alert.summary or alert.name}"[:LONGEST_TITLE],
        alert=alert.fingerprint,
    )


def holding(incidents: Sequence[Incident], fingerprint: str) -> Incident | None:
    """The open incident that the alert keeps open."""
    return next((i for i in incidents if i.state is State.OPEN and fingerprint in i.alerts), None)


def _at(seen: Sighting, incidents: Iterable[Incident]) -> Incident | None:
    key = family(seen.kind), seen.where
    return next((i for i in incidents if i.state is State.OPEN and key == (family(i.kind), i.where)), None)


def taken(alert: Alert, seen: Sighting | None, before: Sequence[Incident], after: Mapping[str, Incident]) -> Taken:
    """What became of an alert, from the incidents before and after; `seen` is None where it has ended."""
    if alert.name.startswith(OWN):
        return Taken(alert.fingerprint, Outcome.OWN, None)
    if seen is None:
        was = holding(before, alert.fingerprint)
        return Taken(alert.fingerprint, Outcome.RESOLVED if was else Outcome.UNKNOWN, was.id if was else None)
    part = holding(list(after.values()), alert.fingerprint) or _at(seen, after.values())
    if part is None:
        return Taken(alert.fingerprint, Outcome.REFUSED, None)
    new = part.id not in {incident.id for incident in before}
    return Taken(alert.fingerprint, Outcome.OPENED if new else Outcome.UPDATED, part.id)
