"""The generic webhook: signed as the specification says, plain or in an envelope, or as a template has it."""

import json
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from correlator.model.errors import ConfigError
from correlator.model.incidents import as_object
from correlator.model.notices import Attempt, Change, HttpRequest, Notice
from exporters._templates import MAX_RESULT
from tests.exporters.incidents import incident, told
from tests.exporters.telling import KEY, target

NOW = 1_796_010_000_123_456_789


def request(folder: Path, notice: Notice, **options: Any) -> HttpRequest:
    to = target("webhook", folder, **{"url": "http://127.0.0.1:1/x"} | options)
    return to.requests(notice, Attempt(at=NOW, secret=to.secret()))[0]


def test_the_body_is_the_incident_of_the_api(tmp_path: Path) -> None:
    """Type, time, what changed, and the object that the API gives, its diagnosis in it."""
    body = json.loads(request(tmp_path, told()).body)
    assert {"type": "incident.opened", "timestamp": "2026-11-30T03:39:00Z"} == {
        k: body[k] for k in ("type", "timestamp")
    }
    assert {"change", "incident", "link", "summary"} == set(body["data"])
    assert "https://t.example/api/v1/incidents/1f0c" == body["data"]["link"]
    shown = as_object(incident())
    assert shown.keys() == body["data"]["incident"].keys()
    assert body["data"]["incident"]["diagnosis"]["findings"][0]["hypothesis"] in body["data"]["summary"]


def test_key_and_time_are_signed(tmp_path: Path) -> None:
    """Whoever changes id, time or body is found out."""
    got = request(tmp_path, told())
    assert (told().id, str(NOW // 10**9)) == (got.headers["webhook-id"], got.headers["webhook-timestamp"])
    for spoilt in (
        got.headers | {"webhook-id": "msg_other"},
        got.headers | {"webhook-timestamp": str(NOW // 10**9 + 1)},
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(KEY).verify(got.body, dict(spoilt))


def test_cloudevents(tmp_path: Path) -> None:
    """Structured mode of CloudEvents 1.0: the notice's key is the event's id, the incident its subject."""
    got = request(tmp_path, told(Change.RESOLVED), envelope="cloudevents", source="/eu/tollens")
    event = json.loads(got.body)
    data = event.pop("data")
    assert "application/cloudevents+json" == got.headers["Content-Type"]
    assert "resolved" == data["change"]
    assert {
        "specversion": "1.0",
        "id": told(Change.RESOLVED).id,
        "source": "/eu/tollens",
        "type": "tollens.incident.resolved",
        "subject": "1f0c",
        "time": "2026-11-30T03:39:00Z",
        "datacontenttype": "application/json",
    } == event


def test_a_template_gives_the_whole_body(tmp_path: Path) -> None:
    """In it are id, change, incident, link and summary."""
    template = tmp_path / "body.j2"
    template.write_text('{"text": {{ summary | tojson }}, "key": {{ id | tojson }}, "on": "{{ incident.where }}"}')
    body = json.loads(request(tmp_path, told(), body_template=str(template)).body)
    assert {"text", "key", "on"} == set(body)
    assert ("rag-api", told().id) == (body["on"], body["key"])


def test_a_template_gives_the_sentence(tmp_path: Path) -> None:
    """`summary_template` is used wherever a notice is said in a sentence."""
    template = tmp_path / "sentence.j2"
    template.write_text("{{ change | upper }}\n  {{ incident.title }}")
    body = json.loads(request(tmp_path, told(), summary_template=str(template)).body)
    assert "OPENED rag-api: requests take 2.1 times as long" == body["data"]["summary"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not json", "expected JSON"),
        ("{{ incident.no_such_field }}", "no_such_field"),
        ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ("{% for a in range(99999) %}{{ a }}{% endfor %}" * 3, str(MAX_RESULT)),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ('"{{ incident.diagnosis.findings[0].claim }}"', "None"),
    ],
)
def test_a_template_that_does_not_work_is_an_error_at_the_start(text: str, reason: str, tmp_path: Path) -> None:
    """It is tried; the sandbox keeps templates from the inside of Python, and results are bounded."""
    template = tmp_path / "body.j2"
    template.write_text(text)
    with pytest.raises(ConfigError, match=reason):
        request(tmp_path, told(), body_template=str(template))


def test_a_template_with_a_fault_is_an_error_at_the_start(tmp_path: Path) -> None:
    """It names file, line and fault."""
    template = tmp_path / "body.j2"
    template.write_text("fine\n{% if %}")
    with pytest.raises(ConfigError, match=r"exporters\.targets\.0\.body_template: .*body\.j2: line 2: "):
        request(tmp_path, told(), body_template=str(template))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"url": "http://10.0.0.1/"}, "url: expected a public address"),
        ({"url": "http://user:pw@example.com/"}, "without user and password"),
        ({"url": "ftp://example.com"}, "http or https"),
        ({"allow": ["10.0.0.1/8"]}, "expected a network such as"),
        ({"name": "a b"}, "name: "),
        ({"exporter": "fax"}, "expected one of alertmanager"),
        ({"exporter": None}, "expected one of alertmanager"),
        ({"colour": 1}, "colour: unknown; expected one of"),
        ({"secret_env": "X"}, "expected one of them, not both"),
        ({"secret_file": "/nowhere"}, "secret_file /nowhere: cannot be read"),
        ({"secret_file": None}, "expected secret_file or secret_env"),
        ({"secret_file": None, "secret_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE is not set"),
        ({"body_template": "/nowhere.j2"}, "/nowhere.j2: cannot be read"),
        ({"ca_file": "/nowhere.pem"}, "ca_file /nowhere.pem"),
        ({"timeout_s": 0}, "timeout_s: "),
    ],
)
def test_wrong_settings_are_errors_at_the_start(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """Each names the target, the field and what was expected."""
    with pytest.raises(ConfigError, match=r"^tollens.yaml: exporters\.targets\.0") as error:
        request(tmp_path, told(), **options)
    assert expected in str(error.value)
    assert "pw" not in str(error.value)


def test_the_secret_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`secret_env` names the variable."""
    monkeypatch.setenv("TOLLENS_TEST_SECRET", KEY)
    options = {"secret_file": None, "secret_env": "TOLLENS_TEST_SECRET"}
    assert request(tmp_path, told()).headers == request(tmp_path, told(), **options).headers
