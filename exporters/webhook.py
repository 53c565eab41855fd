"""JSON to any receiver, signed by the Standard Webhooks specification; on wish in a CloudEvents 1.0 envelope.

The body is `{"type": "incident.opened", "timestamp": …, "data": {"change", "incident", "link"}}`. Several secrets, a
line each, sign side by side, so that they can be exchanged without a gap.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Any, Literal, Self

from pydantic import Field, model_validator
from standardwebhooks import Webhook

from correlator.model.moments import rfc3339
from correlator.model.notices import Attempt, HttpRequest, Notice, told
from exporters._contract import Exporter, ExporterSettings, Url
from exporters._summary import summary
from exporters._templates import Template, rendered

KEY_BYTES = (24, 64)
"""Length of a secret by the specification."""
SUMMARY = 1_000
SOURCE = "/tollens"


class WebhookSettings(ExporterSettings):
    """`body_template` gives the whole body instead, which has to be JSON."""

    url: Url
    envelope: Literal["none", "cloudevents"] = "none"
    source: str = Field(default=SOURCE, pattern=r"^[!-~]{1,200}$", description="`source` of a CloudEvents envelope.")
    body_template: Template | None = Field(default=None, description="Jinja file for the whole body.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.body_template is not None and self.envelope != "none":
            raise ValueError("body_template, envelope: expected one of them, not both")
        return self


def requests(notice: Notice, settings: WebhookSettings, attempt: Attempt) -> list[HttpRequest]:
    """One request; ValueError when the template does not give JSON."""
    body = _body(notice, settings)
    at = datetime.fromtimestamp(attempt.at // 1_000_000_000, UTC)
    signatures = [Webhook(secret).sign(notice.id, at, body) for secret in _secrets(attempt.secret)]
    headers = {
        "Content-Type": "application/cloudevents+json" if settings.envelope == "cloudevents" else "application/json",
        "webhook-id": notice.id,
        "webhook-timestamp": str(attempt.at // 1_000_000_000),
        "webhook-signature": " ".join(signatures),
    }
    return [HttpRequest(url=settings.url, headers=headers, body=body.encode())]


def check(secret: str) -> None:
    """ValueError unless each line is a secret such as the specification wants."""
    if not _secrets(secret):
        raise ValueError("expected secret_file or secret_env with a secret such as whsec_…")
    for line in _secrets(secret):
        try:
            key = base64.b64decode(line.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("expected base64 after whsec_ in every line of the secret") from None
        if not KEY_BYTES[0] <= len(key) <= KEY_BYTES[1]:
            raise ValueError(f"expected a secret of {KEY_BYTES[0]} to {KEY_BYTES[1]} bytes, in base64")


def _secrets(secret: str) -> list[str]:
    return secret.split()


def _body(notice: Notice, settings: WebhookSettings) -> str:
    if settings.body_template is not None:
        values = told(notice) | {"id": notice.id, "summary": summary(notice, settings, SUMMARY)}
        return _json(rendered(settings.body_template, values))
    data = told(notice) | {"summary": summary(notice, settings, SUMMARY)}
    kind, time = f"incident.{notice.change}", rfc3339(notice.at)
    content: dict[str, Any] = {"type": kind, "timestamp": time, "data": data}
    if settings.envelope == "cloudevents":
        content = {
            "specversion": "1.0",
            "id": notice.id,
            "source": settings.source,
            "type": f"tollens.{kind}",
            "subject": notice.incident.id,
            "time": time,
            "datacontenttype": "application/json",
            "data": data,
        }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        raise ValueError(f"body_template: expected JSON: {error}") from None
    return text


EXPORTER = Exporter(id="webhook", settings=WebhookSettings, requests=requests, check=check)
