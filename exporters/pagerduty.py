"""PagerDuty Events API v2: an incident triggers one alert, whose `dedup_key` is its id, and resolves it.

The integration's routing key is the secret.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import Field

from correlator.model.moments import rfc3339
from correlator.model.notices import Attempt, Change, HttpRequest, Notice
from exporters._contract import Exporter, ExporterSettings, Url
from exporters._summary import causes, level, refuted, remedy, summary, symptom

SUMMARY = 1_024
"""Longest summary that PagerDuty takes, in characters; an event as a whole has 512 KB at most."""


class PagerdutySettings(ExporterSettings):
    """`url` is https://events.eu.pagerduty.com/v2/enqueue for accounts in the European service region."""

    url: Url = "https://events.pagerduty.com/v2/enqueue"
    component: str = Field(default="", max_length=200, description="The part of the system, told in every event.")


def requests(notice: Notice, settings: PagerdutySettings, attempt: Attempt) -> list[HttpRequest]:
    """One event."""
    resolved = notice.change is Change.RESOLVED
    content: dict[str, Any] = {
        "routing_key": attempt.secret,
        "event_action": "resolve" if resolved else "trigger",
        "dedup_key": f"tollens-{notice.incident.id}",
        "client": "Tollens",
        "payload": _payload(notice, settings),
    }
    if notice.link is not None:
        content |= {"client_url": notice.link, "links": [{"href": notice.link, "text": "The whole diagnosis"}]}
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return [HttpRequest(url=settings.url, headers={"Content-Type": "application/json"}, body=body)]


def check(secret: str) -> None:
    """ValueError unless it looks like a routing key."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{20,64}", secret):
        raise ValueError("expected secret_file or secret_env with the routing key of an Events API v2 integration")


def _payload(notice: Notice, settings: PagerdutySettings) -> dict[str, Any]:
    incident = notice.incident
    payload: dict[str, Any] = {
        "summary": summary(notice, settings, SUMMARY),
        "source": incident.where or "tollens",
        "severity": level(notice),
        "timestamp": rfc3339(notice.at),
        "class": symptom(notice),
        "custom_details": {
            "incident": incident.id,
            "detector": incident.detector,
            "severity": round(incident.severity, 3),
            "since": rfc3339(incident.onset),
            "causes": causes(notice),
            "refuted": refuted(notice),
            "remedy": remedy(notice),
            "note": incident.note,
        },
    }
    return payload | ({"component": settings.component} if settings.component else {})


EXPORTER = Exporter(id="pagerduty", settings=PagerdutySettings, requests=requests, check=check)
