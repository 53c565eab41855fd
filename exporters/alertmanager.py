"""Alertmanager's API v2: an incident is one alert, the ranked causes are its annotations.

Labels are what tells alerts apart, so only what never changes about an incident is in them. Alertmanager forgets an
alert whose sender falls silent; an incident lasts until it is told to be over, so its end is set far ahead.
"""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field, StringConstraints

from correlator.model.moments import rfc3339
from correlator.model.notices import Attempt, Change, HttpRequest, Notice
from exporters._contract import Exporter, ExporterSettings, Url
from exporters._summary import causes, level, refuted, remedy, shortened, summary, symptom

LASTS_NS = 30 * 86_400_000_000_000
"""An open incident's alert ends by itself so long after the latest change; an unheard incident is given up before."""
ANNOTATION = 2_000

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Value = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class AlertmanagerSettings(ExporterSettings):
    """`url` is Alertmanager's own, such as http://alertmanager:9093; a secret is sent as bearer token."""

    url: Url
    labels: dict[Name, Value] = Field(default={}, max_length=20, description="Further labels, such as severity: page.")


def requests(notice: Notice, settings: AlertmanagerSettings, attempt: Attempt) -> list[HttpRequest]:
    """One request with one alert."""
    incident = notice.incident
    ended = max(incident.closed or notice.at, incident.onset) if notice.change is Change.RESOLVED else None
    alert = {
        "labels": _labels(notice, settings),
        "annotations": {name: shortened(text, ANNOTATION) for name, text in _annotations(notice, settings) if text},
        "startsAt": rfc3339(incident.onset),
        "endsAt": rfc3339(notice.at + LASTS_NS if ended is None else ended),
    }
    if notice.link is not None:
        alert["generatorURL"] = notice.link
    headers = {"Content-Type": "application/json"}
    if attempt.secret:
        headers["Authorization"] = f"Bearer {attempt.secret}"
    body = json.dumps([alert], ensure_ascii=False, separators=(",", ":")).encode()
    return [HttpRequest(url=f"{settings.url.rstrip('/')}/api/v2/alerts", headers=headers, body=body)]


def check(secret: str) -> None:
    """ValueError unless it can stand in a header; it may be missing."""
    if not secret.isascii() or any(not "!" <= sign <= "~" for sign in secret):
        raise ValueError("expected one line with a bearer token")


def _labels(notice: Notice, settings: AlertmanagerSettings) -> dict[str, str]:
    own = {"alertname": "TollensIncident", "tollens_incident": notice.incident.id, "service": notice.incident.where}
    return settings.labels | {name: value for name, value in own.items() if value}


def _annotations(notice: Notice, settings: AlertmanagerSettings) -> list[tuple[str, str]]:
    ranked = [(f"cause_{rank}", line) for rank, line in enumerate(causes(notice), 1)]
    return [
        ("summary", summary(notice, settings, ANNOTATION)),
        ("description", notice.incident.note),
        ("symptom", symptom(notice)),
        ("level", level(notice)),
        *ranked,
        ("refuted", ", ".join(refuted(notice))),
        ("remedy", remedy(notice)),
    ]


EXPORTER = Exporter(id="alertmanager", settings=AlertmanagerSettings, requests=requests, check=check)
