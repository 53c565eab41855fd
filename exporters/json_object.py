"""A diagnosis as one JSON object, the shape that `tollens diagnose --json` and the API promise.

`docs/diagnosis.schema.json` describes it. Times are RFC 3339; a number that is not finite becomes null.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from correlator.model.moments import rfc3339

if TYPE_CHECKING:
    from correlator.model.evidence import Interval, Symptom, Window
    from correlator.model.findings import Diagnosis, Experiment, Finding, PredictionResult, Stability


def to_object(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis in plain dicts, lists, strings, finite numbers and None, ready for `json.dumps`."""
    found: dict[str, Any] = _plain(
        {
            "symptom": _symptom(diagnosis),
            "ledger": [
                {"part": x.part, "baseline_s": x.baseline_s, "incident_s": x.incident_s, "share": x.share}
                for x in diagnosis.ledger
            ],
            "findings": [_finding(finding) for finding in diagnosis.findings],
            "none_of_these": diagnosis.none_of_these,
            "stability": _stability(diagnosis.stability),
            "coverage": _coverage(diagnosis),
            "version": diagnosis.version,
            "elapsed_s": diagnosis.elapsed_s,
        }
    )
    return found


def _symptom(diagnosis: Diagnosis) -> dict[str, Any] | None:
    symptom, windows = diagnosis.symptom, diagnosis.windows
    if symptom is None:
        return None
    return {
        "kind": symptom.kind,
        "where": symptom.where,
        "onset": rfc3339(symptom.onset),
        "baseline": _window(windows.baseline if windows else None, symptom.baseline_value),
        "incident": _window(windows.incident if windows else None, symptom.incident_value),
        "change": _ratio(symptom),
    }


def _window(window: Window | None, value: float) -> dict[str, Any]:
    return (_stretch(window) if window else {"start": None, "end": None}) | {"value": value}


def _stretch(window: Window) -> dict[str, Any]:
    return {"start": rfc3339(window.start), "end": rfc3339(window.end)}


def _ratio(symptom: Symptom) -> dict[str, Any]:
    """A change measured as a difference is told as a ratio to the baseline; null where that is zero."""
    change, base = symptom.change, symptom.baseline_value
    bounds = {"ratio": change.value, "low": change.low, "high": change.high}
    if change.unit == "ratio":
        return bounds
    return {name: 1 + bound / base if base else None for name, bound in bounds.items()}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "hypothesis": finding.hypothesis,
        "claim": finding.claim,
        "verdict": finding.verdict,
        "role": finding.role,
        "probability": finding.probability,
        "share": _share(finding.share),
        "scope": finding.scope,
        "predictions": [_prediction(prediction) for prediction in finding.predictions],
        "missing": finding.missing,
        "experiment": _experiment(finding.experiment),
        "remedy": finding.remedy,
    }


def _prediction(prediction: PredictionResult) -> dict[str, Any]:
    reading = prediction.reading
    return {
        "id": prediction.id,
        "statement": prediction.statement,
        "outcome": reading.outcome,
        "necessary": prediction.necessary,
        "effect": _effect(reading.effect),
        "q_value": prediction.q_value,
        "blocks": reading.blocks,
        "trace_ids": reading.trace_ids,
    }


def _share(share: Interval | None) -> dict[str, Any] | None:
    return {"value": share.value, "low": share.low, "high": share.high} if share else None


def _effect(e: Interval | None) -> dict[str, Any] | None:
    return {"value": e.value, "low": e.low, "high": e.high, "unit": e.unit} if e else None


def _experiment(e: Experiment | None) -> dict[str, Any] | None:
    return {"id": e.id, "why": e.why, "command": e.command, "expect": e.expect} if e else None


def _stability(stability: Stability) -> dict[str, Any]:
    return {
        "runs": stability.runs,
        "top_kept": stability.top_kept,
        "onset_shift_s": stability.onset_shift_s,
        "changed_by": stability.changed_by,
        "rank_kept": stability.rank_kept,
        "placebo": stability.placebo,
    }


def _coverage(diagnosis: Diagnosis) -> dict[str, Any]:
    coverage, windows = diagnosis.coverage, diagnosis.windows
    return {
        "windows": {"baseline": _stretch(windows.baseline), "incident": _stretch(windows.incident)}
        if windows
        else None,
        "records": coverage.records,
        "signals": coverage.signals,
        "watched": sorted(coverage.watched),
        "problems": coverage.problems,
        "messages": coverage.messages,
        "orphan_share": coverage.orphan_share,
        "sampled_traces": coverage.sampled_traces,
        "clock_skew_s": coverage.clock_skew_s,
    }


def _plain(value: object) -> Any:
    """Enums, NumPy numbers, tuples and mappings as what JSON knows."""
    if isinstance(value, str):
        return str(value).encode(errors="replace").decode()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Set):
        return sorted(str(inner) for inner in value)
    return [_plain(inner) for inner in value] if isinstance(value, Iterable) else str(value)
