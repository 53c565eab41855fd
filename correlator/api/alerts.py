"""Alerts as they are sent: Alertmanager's webhook (version 4), Grafana's (a superset of it), and a plain form."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from correlator.api.problems import Fault
from correlator.api.times import Time, parsed
from correlator.model.alerts import Alert, Outcome, Taken

ALERTS = 100
"""Alerts of one request. Alertmanager sends no more with `max_alerts: 100`; Grafana calls it "max alerts"."""
LONGEST = 1_000
"""Characters kept of a label's value and of a summary."""
BODY_BYTES = 1_048_576
"""Largest body with alerts: annotations can be long."""
Labels = Annotated[dict[Annotated[str, Field(max_length=200)], str], Field(max_length=100)]


class NotifiedAlert(BaseModel):
    """One alert of Alertmanager or Grafana; fields not named here are not looked at."""

    status: Literal["firing", "resolved"]
    labels: Labels = Field(description="With `alertname`.")
    annotations: dict[str, str] = Field(default_factory=dict, max_length=100)
    startsAt: Time
    endsAt: str = ""
    fingerprint: str = Field(
        default="", pattern=r"^[A-Za-z0-9_-]{0,64}$", description="Made of the labels where empty."
    )


class PlainAlert(BaseModel):
    """One alert in the plain form; with `ends_at` it is over."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=LONGEST)
    starts_at: Time
    ends_at: Time | None = None
    labels: Labels = Field(default_factory=dict)
    summary: str = Field(default="", max_length=LONGEST)


class Notification(BaseModel):
    """The body of a webhook; fields not named here are not looked at. An alert with a fault does not harm others."""

    alerts: list[dict[str, Any]] = Field(
        min_length=1, max_length=ALERTS, description="Objects of the shape NotifiedAlert."
    )
    truncatedAlerts: int = Field(default=0, ge=0, description="Alerts that the sender left out (its max_alerts).")


class TakenAlert(BaseModel):
    """What became of one alert."""

    fingerprint: str
    outcome: Outcome
    incident: str | None = Field(description="Null where there is none: it ended, and no incident knew of it.")


class Received(BaseModel):
    """Alerts that were taken, the incidents they are part of, and those that could not be read."""

    incidents: list[str]
    alerts: list[TakenAlert]
    problems: list[Fault]


def schemas() -> dict[str, Any]:
    """The shapes of bodies for the OpenAPI document."""
    shapes: tuple[type[BaseModel], ...] = (Notification, NotifiedAlert, PlainAlert)
    return {shape.__name__: shape.model_json_schema(ref_template="#/components/schemas/{model}") for shape in shapes}


def read(body: object, now: int | None = None) -> tuple[list[Alert], list[Fault]]:
    """The alerts of a body and what is wrong with others. RequestValidationError when none of them can be used."""
    now = time.time_ns() if now is None else now
    try:
        if isinstance(body, Mapping) and "alerts" not in body:
            return [_plain(PlainAlert.model_validate(body), now)], []
        told = Notification.model_validate(body)
    except ValidationError as error:
        raise RequestValidationError(_placed(error, "body")) from None
    alerts: list[Alert] = []
    faults: list[dict[str, Any]] = []
    for k, item in enumerate(told.alerts):
        try:
            alerts.append(_notified(NotifiedAlert.model_validate(item), now))
        except ValidationError as error:
            faults += _placed(error, "body", "alerts", k)
    if not alerts:
        raise RequestValidationError(faults)
    return alerts, [Fault(field=".".join(map(str, f["loc"])), expected=_said(f)) for f in faults]


def left_out(body: Mapping[str, Any]) -> int:
    """How many alerts the sender cut off, of a body that was read: they are missing here and not sent again."""
    return int(body.get("truncatedAlerts", 0))


def received(taken: Sequence[Taken], faults: list[Fault], left_out: int) -> Received:
    """The answer."""
    if left_out:
        expected = f"0: the sender left out {left_out} alerts; group them closer or raise its max_alerts"
        faults = [*faults, Fault(field="body.truncatedAlerts", expected=expected)]
    ids = dict.fromkeys(one.incident for one in taken if one.incident is not None)
    alerts = [TakenAlert(fingerprint=t.fingerprint, outcome=t.outcome, incident=t.incident) for t in taken]
    return Received(incidents=list(ids), alerts=alerts, problems=faults)


def _notified(told: NotifiedAlert, now: int) -> Alert:
    labels = _short(told.labels)
    ends = None if told.status == "firing" else _ended(told.endsAt, now)
    return Alert(
        name=labels.get("alertname") or "unnamed alert",
        fingerprint=told.fingerprint or _fingerprint(labels),
        starts=min(told.startsAt, now),
        ends=ends,
        labels=labels,
        summary=(told.annotations.get("summary") or told.annotations.get("description") or "")[:LONGEST],
    )


def _plain(told: PlainAlert, now: int) -> Alert:
    labels = _short(told.labels) | {"alertname": told.name}
    return Alert(
        name=told.name,
        fingerprint=_fingerprint(labels),
        starts=min(told.starts_at, now),
        ends=told.ends_at if told.ends_at is not None and told.ends_at <= now else None,
        labels=labels,
        summary=told.summary,
    )


def _ended(text: str, now: int) -> int:
    """When it ended; now where the sender does not say (Alertmanager writes the year 1)."""
    try:
        return min(parsed(text), now)
    except ValueError:
        return now


def _short(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value[:LONGEST] for name, value in labels.items()}


def _fingerprint(labels: Mapping[str, str]) -> str:
    return sha256(json.dumps(sorted(labels.items())).encode()).hexdigest()[:16]


def _placed(error: ValidationError, *place: str | int) -> list[dict[str, Any]]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [{**fault, "loc": (*place, *fault["loc"])} for fault in found]


def _said(fault: Mapping[str, Any]) -> str:
    return str(fault["msg"]).removeprefix("Value error, ")
