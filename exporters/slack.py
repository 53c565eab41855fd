"""A message to a Slack channel for each change of an incident, as blocks.

With a bot's token and a channel all messages of an incident are one thread (`chat.postMessage`). An incoming webhook,
whose URL is then the secret, cannot answer into a thread, so the incident's id stands in every message. Text of the
telemetry is escaped: a service named `<!channel>` wakes nobody.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import Field

from correlator.model.moments import rfc3339
from correlator.model.notices import Attempt, Change, HttpRequest, Notice
from correlator.model.outbound import http_url
from correlator.model.retrying import Later, Never
from exporters._contract import Exporter, ExporterSettings, Url
from exporters._summary import causes, is_grave, refuted, remedy, shortened, summary, symptom

HEADER, SECTION, FIELD = 150, 3_000, 2_000
"""Characters that Slack takes in a header, in a section's text and in one of its fields."""
_SIGNS = {Change.OPENED: "🔴", Change.UPDATED: "🟠", Change.RESOLVED: "🟢"}


_TOKEN = re.compile(r"xox[a-z]-[A-Za-z0-9-]{6,200}")
_PASSING = frozenset(
    {"fatal_error", "internal_error", "ratelimited", "rate_limited", "request_timeout", "service_unavailable"}
)
"""Errors of Slack's Web API that are not about what was asked."""


class SlackSettings(ExporterSettings):
    """With `channel` the secret is a bot's token, which needs the scope chat:write; without, a webhook's URL."""

    channel: str | None = Field(default=None, pattern=r"^[A-Z0-9]{9,20}$", description="Id such as C0123456789.")
    url: Url = "https://slack.com/api/chat.postMessage"


def requests(notice: Notice, settings: SlackSettings, attempt: Attempt) -> list[HttpRequest]:
    """One message."""
    text = f"{_SIGNS[notice.change]} {summary(notice, settings, SECTION // 2)}"
    content: dict[str, Any] = {"text": shortened(_escaped(text), SECTION), "blocks": _blocks(notice, text)}
    headers = {"Content-Type": "application/json; charset=utf-8"}
    if bool(settings.channel) != bool(_TOKEN.fullmatch(attempt.secret)):
        raise ValueError("channel: expected with the token of a bot (xoxb-…), and not with a webhook's URL")
    if settings.channel:
        headers["Authorization"] = f"Bearer {attempt.secret}"
        content |= {"channel": settings.channel} | ({"thread_ts": attempt.thread} if attempt.thread else {})
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return [HttpRequest(url=settings.url if settings.channel else attempt.secret, headers=headers, body=body)]


def check(secret: str) -> None:
    """ValueError unless it is a URL or a bot's token."""
    if not secret:
        raise ValueError("expected secret_file or secret_env with the URL of an incoming webhook, or a bot's token")
    if not _TOKEN.fullmatch(secret):
        http_url(secret)


def answered(answer: bytes) -> str:
    """The thread, as the Web API names it; a webhook says `ok` and no more. Later or Never where it says no."""
    try:
        told = json.loads(answer)
    except ValueError:
        return ""
    if not isinstance(told, dict):
        return ""
    if told.get("ok") is False:
        reason = f"Slack said {told.get('error')}"
        raise Later(reason) if told.get("error") in _PASSING else Never(reason)
    inside = told.get("message")
    first = inside.get("thread_ts") if isinstance(inside, dict) else None
    return str(first or told.get("ts") or "")


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


EXPORTER = Exporter(id="slack", settings=SlackSettings, requests=requests, check=check, answered=answered)
