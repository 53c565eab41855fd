"""Where the parts are put together: files → store → evidence → findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml
from pydantic import ValidationError

from collector.files import Options, read
from correlator.join.build import Joined, build
from correlator.join.compare import side_by_side
from correlator.join.connect import CONNECT, Groups
from correlator.join.illustrate import illustrate
from correlator.join.ledger import to_ledger
from correlator.join.places import at
from correlator.join.search import refined
from correlator.join.service_symptom import any_symptom, with_any_symptom
from correlator.join.windows import extent, trimmed, with_found_windows, with_onset_near
from correlator.model.config import refusal
from correlator.model.errors import InputError
from correlator.model.evidence import Evidence, Kind, Window, Windows, with_windows
from correlator.model.findings import Diagnosis, Illustration
from correlator.model.moments import rfc3339
from correlator.model.records import Batch, Problem
from correlator.model.telemetry import Spans, untraced
from correlator.store import Store
from exporters.json_object import to_object
from hypotheses._describe import described
from hypotheses._engine import Engine
from hypotheses._probability import Calibration
from hypotheses._registry import all_hypotheses

if TYPE_CHECKING:
    from correlator.notify.line import Target
    from correlator.notify.settings import NotifySettings
    from exporters._targets import Bound


Progress = Callable[[str], None] | None
Reading = Callable[[Sequence[str], Options, Progress], Iterator[Batch | Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to diagnose. Windows are Unix nanoseconds; `baseline` are the paths of a second bundle."""

    paths: Sequence[str]
    baseline: Sequence[str] = ()
    baseline_window: Window | None = None
    incident_window: Window | None = None
    symptom: Kind | None = None
    options: Options = field(default_factory=Options)
    drawn: bool = False
    """Gather what a report draws: the symptom over time and example traces."""


def diagnose(request: Request, progress: Progress = None, reading: Reading = read) -> Diagnosis:
    """Read, join, judge. Raises InputError when nothing readable is there or the windows cannot be compared."""
    began = time.monotonic()
    with Store.open() as store:
        joined = _joined(store, reading(request.paths, request.options, progress))
        evidence = joined.evidence
    if request.baseline:
        with Store.open() as store:
            before = _baseline(store, reading(request.baseline, request.options, progress))
        evidence = side_by_side(before.evidence, evidence)
        joined = replace(joined, spans=pd.concat([before.spans, joined.spans], ignore_index=True))
    evidence = windowed(evidence, request)
    return _answered(evidence, joined, time.monotonic() - began, request.drawn)


def diagnosed(
    store: Store,
    windows: Windows,
    kind: Kind | None,
    where: str | None,
    spans: Spans = untraced,
    connect: Groups = CONNECT,
) -> dict[str, object]:
    """The object of a diagnosis of what is in a store. InputError when the windows cannot be compared."""
    began = time.monotonic()
    with spans("diagnose") as told:
        with spans("join") as found:
            joined = build(store, within=windows, connect=connect)
            evidence = at(joined.evidence, where) if where else joined.evidence
            found["tollens.requests"] = len(evidence.requests)
        request = Request(paths=(), baseline_window=windows.baseline, incident_window=windows.incident, symptom=kind)
        with spans("judge") as judged:
            answer = _answered(windowed(evidence, request), joined, time.monotonic() - began)
            told["tollens.findings"] = judged["tollens.findings"] = len(answer.findings)
        return to_object(answer)


def hypotheses() -> list[dict[str, object]]:
    """All hypotheses as plain objects, by id."""
    return [described(hypothesis) for hypothesis in all_hypotheses()]


def targets(settings: NotifySettings, source: object = "tollens.yaml") -> list[Target]:
    """Whom to tell, with their exporters. ConfigError names the target, the field and what was expected."""
    from exporters._targets import bound  # a diagnosis of files needs none of it

    return [_target(each) for each in bound(settings.targets, source)]


def _target(each: Bound) -> Target:
    from correlator.notify.line import Target
    from exporters._targets import secret_of

    told = each.settings
    return Target(
        name=told.name,
        requests=lambda notice, attempt: each.exporter.requests(notice, told, attempt),
        secret=lambda: secret_of(told),
        answered=each.exporter.answered,
        context=each.context,
        allow=told.allow,
        connect_timeout_s=told.connect_timeout_s,
        timeout_s=told.timeout_s,
        per_minute=told.per_minute,
        give_up_s=told.give_up_s,
    )


def engine() -> Engine:
    """The engine with every discovered hypothesis and the shipped calibration."""
    return Engine(all_hypotheses(), calibration(), any_symptom, how_to_measure())


def calibration() -> Calibration:
    """What was learnt from the fault lab, and the judgement beneath it; ConfigError names file and field."""
    return _calibration(_settings("judgement.yaml") | _settings("calibration.yaml"), "calibration.yaml")


def judgement() -> Calibration:
    """The written-down judgement alone."""
    return _calibration(_settings("judgement.yaml"), "judgement.yaml")


def _calibration(settings: dict[str, Any], name: str) -> Calibration:
    try:
        return Calibration.model_validate(settings)
    except ValidationError as error:
        raise refusal(name, error, Calibration) from None


def _settings(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(files("configs").joinpath(name).read_text(encoding="utf-8"))
    return loaded


def how_to_measure() -> dict[str, str]:
    """Canonical signal → the command or setting that switches it on."""
    return _settings("how_to_measure.yaml")


def _joined(store: Store, items: Iterator[Batch | Problem]) -> Joined:
    problems: list[Problem] = []

    def batches() -> Iterator[Batch]:
        for item in items:
            if isinstance(item, Batch):
                yield item
            else:
                problems.append(item)

    report = store.load(batches())
    problems += report.problems
    if not sum(report.rows.values()):
        raise InputError("\n".join(["nothing readable:", *(f"  {p}" for p in problems[:20])]))
    return build(store, problems)


def _baseline(store: Store, items: Iterator[Batch | Problem]) -> Joined:
    try:
        return _joined(store, items)
    except InputError as error:
        raise InputError(f"--baseline: {error}") from None


def windowed(evidence: Evidence, request: Request) -> Evidence:
    """Evidence with the windows asked for, or found, and its symptom; the onset corrected where it is near."""
    if evidence.windows is None:
        windows = _given(evidence, request)
        if windows is None:
            found = _with_onset(with_found_windows(evidence, request.symptom), request)
            return with_any_symptom(found, request.symptom)
        evidence = with_windows(evidence, windows)
    told = _with_onset(replace(evidence, symptom=any_symptom(evidence, request.symptom)), request)
    return with_onset_near(told, request.symptom) if told.symptom is None else told


def _with_onset(evidence: Evidence, request: Request) -> Evidence:
    """Move the onset to where the symptom's signal really changed, if that is near (an alert fires late)."""
    if evidence.windows is None or evidence.symptom is None:
        return evidence
    windows = refined(evidence, evidence.windows, evidence.symptom.signal)
    if windows == evidence.windows:
        return evidence
    moved = with_windows(evidence, windows)
    symptom = any_symptom(moved, request.symptom)
    return evidence if symptom is None else replace(moved, symptom=symptom)


def _given(evidence: Evidence, request: Request) -> Windows | None:
    """Windows from the flags; with only one of them the other is everything before or after it."""
    baseline, incident = request.baseline_window, request.incident_window
    if baseline is None and incident is None:
        return None
    whole = extent(evidence)
    if whole is None:
        raise InputError("no requests and no measurements in the input: there is nothing to compare")
    baseline = baseline or Window(whole.start, incident.start if incident else whole.end)
    incident = incident or Window(baseline.end, whole.end)
    asked = {"baseline": request.baseline_window, "incident": request.incident_window}
    for name, window in sorted(
        {"baseline": baseline, "incident": incident}.items(), key=lambda pair: not asked[pair[0]]
    ):
        if window.start >= window.end or window.end <= whole.start or window.start >= whole.end:
            what = f"the {name} window holds no data" if asked[name] else f"nothing is left for the {name}"
            raise InputError(f"{what}; what was read runs from {_spelled(whole)}")
    if incident.start < baseline.end:
        raise InputError("the incident window must begin where the baseline window ends, or later")
    return trimmed(Windows(baseline, incident, given=True), evidence)


def _spelled(window: Window) -> str:
    return f"{rfc3339(window.start)} to {rfc3339(window.end)}"


def _answered(evidence: Evidence, joined: Joined, elapsed: float, drawn: bool = False) -> Diagnosis:
    began = time.monotonic()
    answer = engine().answer(evidence)
    shown = [t for f in answer.findings[:1] for p in f.predictions for t in p.reading.trace_ids]
    return Diagnosis(
        symptom=evidence.symptom,
        windows=evidence.windows,
        ledger=to_ledger(evidence),
        findings=answer.findings,
        none_of_these=answer.none_of_these,
        stability=answer.stability,
        coverage=evidence.coverage,
        version=version("tollens"),
        elapsed_s=elapsed + time.monotonic() - began,
        illustration=illustrate(evidence, joined.spans, shown) if drawn else Illustration(),
        next_experiment=answer.next_experiment,
    )
