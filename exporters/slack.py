"""A message to a Slack channel for each change of an incident, as blocks. The incoming webhook's URL is the secret.

Incoming webhooks cannot answer into a thread, so the incident's id stands in every message. Text of the telemetry is
escaped: a service named `<!channel>` wakes nobody.
"""

from __future__ import annotations

import json
from typing import Any

from correlator.model.moments import rfc3339
from correlator.model.notices import Attempt, Change, HttpRequest, Notice
from correlator.model.outbound import http_url
from exporters._contract import Exporter, ExporterSettings
from exporters._summary import causes, is_grave, refuted, remedy, shortened, summary, symptom

HEADER, SECTION, FIELD = 150, 3_000, 2_000
"""Characters that Slack takes in a header, in a section's text and in one of its fields."""
_SIGNS = {Change.OPENED: "🔴", Change.UPDATED: "🟠", Change.RESOLVED: "🟢"}


class SlackSettings(ExporterSettings):
    """Nothing beyond what every target has: where to send it is the secret."""


def requests(notice: Notice, settings: SlackSettings, attempt: Attempt) -> list[HttpRequest]:
    """One message."""
    text = f"{_SIGNS[notice.change]} {summary(notice, settings, SECTION // 2)}"
    content = {"text": shortened(_escaped(text), SECTION), "blocks": _blocks(notice, text)}
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return [HttpRequest(url=attempt.secret, headers={"Content-Type": "application/json"}, body=body)]


def check(secret: str) -> None:
    """ValueError unless it is a URL."""
    if not secret:
        raise ValueError("expected secret_file or secret_env with the URL of an incoming webhook")
    http_url(secret)


def _blocks(notice: Notice, text: str) -> list[dict[str, Any]]:
    title = f"{_SIGNS[notice.change]} {notice.incident.title}"
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": shortened(title, HEADER), "emoji": False}},
        _section(text),
        {
            "type": "section",
            "fields": [_mrkdwn(f"*{name}*\n{_escaped(value)}", FIELD) for name, value in _fields(notice)],
        },
    ]
    if named := causes(notice):
        blocks.append(
            _section("Causes, most probable first\n" + "\n".join(f"{n}. {c}" for n, c in enumerate(named, 1)))
        )
    if help_ := remedy(notice):
        blocks.append(_section(f"What helps: {help_}"))
    if ruled_out := refuted(notice):
        blocks.append(_section(f"Refuted: {', '.join(ruled_out)}"))
    if notice.link is not None:
        blocks.append({"type": "section", "text": _mrkdwn(f"<{notice.link}|The whole diagnosis>", SECTION)})
    return blocks


def _fields(notice: Notice) -> list[tuple[str, str]]:
    incident = notice.incident
    return [
        ("Service", incident.where or "all"),
        ("Symptom", symptom(notice)),
        ("Since", rfc3339(incident.onset)),
        ("Severity", f"{incident.severity:.3g}{', grave' if is_grave(notice) else ''}"),
        ("Incident", incident.id),
        ("State", str(incident.state)),
    ]


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _mrkdwn(_escaped(text), SECTION)}


def _mrkdwn(text: str, at_most: int) -> dict[str, Any]:
    """`verbatim`: names of channels and addresses in it are not made into links."""
    return {"type": "mrkdwn", "text": shortened(text, at_most), "verbatim": True}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


EXPORTER = Exporter(id="slack", settings=SlackSettings, requests=requests, check=check)
