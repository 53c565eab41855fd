"""Alerts that come in by the API: which forms are understood, what is bounded, and what is said of faults."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from correlator.api import Options
from correlator.api.alerts import ALERTS, BODY_BYTES, LONGEST, read
from correlator.model.alerts import Outcome, Taken
from tests.correlator.api.served import T0, Client, Made

PATH = "/api/v1/alerts"
AT = "2026-11-30T03:35:00Z"
ALERTMANAGER = {
    "version": "4",
    "groupKey": '{}:{alertname="ChatSlow"}',
    "truncatedAlerts": 0,
    "status": "firing",
    "receiver": "tollens",
    "groupLabels": {"alertname": "ChatSlow"},
    "commonLabels": {"alertname": "ChatSlow", "service": "rag-api"},
    "commonAnnotations": {"summary": "chat is slow"},
    "externalURL": "http://alertmanager:9093",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "ChatSlow", "service": "rag-api", "severity": "page"},
            "annotations": {"summary": "chat is slow", "description": "p95 is 3 s"},
            "startsAt": AT,
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus:9090/graph?g0.expr=1",
            "fingerprint": "0c5b1e4f6a7d8e9f",
        }
    ],
}
GRAFANA = ALERTMANAGER | {
    "version": "1",
    "orgId": 1,
    "title": "[FIRING:1] ChatSlow",
    "state": "alerting",
    "message": "**Firing**",
    "alerts": [
        ALERTMANAGER["alerts"][0]
        | {
            "startsAt": "2026-11-30T05:35:00.25+02:00",
            "values": {"A": 3.1, "C": 1},
            "valueString": "[ var='A' labels={} value=3.1 ]",
            "silenceURL": "http://grafana:3000/alerting/silence/new",
            "dashboardURL": "",
            "panelURL": "",
            "imageURL": "",
        }
    ],
}
PLAIN = {"name": "ChatSlow", "starts_at": AT, "labels": {"service": "rag-api"}}


def with_alerts(*alerts: Mapping[str, Any]) -> dict[str, Any]:
    return ALERTMANAGER | {"alerts": [ALERTMANAGER["alerts"][0] | alert for alert in alerts]}


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def client(made: Made) -> Iterator[Client]:
    with Client(made) as client:
        yield client


@pytest.mark.parametrize(("form", "late"), [(ALERTMANAGER, 0), (GRAFANA, 250_000_000), (PLAIN, 0)])
def test_each_form_is_understood(client: Client, made: Made, form: dict[str, Any], late: int) -> None:
    """Name, labels and start are the same in all three, and the answer names the incident."""
    answer = client.request("POST", PATH, json=form)
    assert 202 == answer.status_code
    assert ["a"] == answer.json()["incidents"]
    (alert,) = made.alerts
    assert ("ChatSlow", "rag-api", T0 + late, None) == (
        alert.name,
        alert.labels["service"],
        alert.starts,
        alert.ends,
    )


def test_an_alert_that_is_over_says_when(client: Client, made: Made) -> None:
    """By its status where it has one, by `ends_at` in the plain form."""
    over = {"status": "resolved", "endsAt": "2026-11-30T03:36:00Z"}
    client.request("POST", PATH, json=with_alerts(over))
    client.request("POST", PATH, json=PLAIN | {"ends_at": "2026-11-30T03:36:00Z"})
    assert [T0 + 60 * 10**9] * 2 == [alert.ends for alert in made.alerts]


def test_a_fingerprint_is_made_of_the_labels_where_none_is_sent(client: Client, made: Made) -> None:
    """The same labels in another order give the same one, others another."""
    for labels in ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {"a": "2", "b": "1"}):
        client.request("POST", PATH, json=PLAIN | {"labels": labels})
    first, second, third = (alert.fingerprint for alert in made.alerts)
    assert first == second != third


def test_one_alert_with_a_fault_does_not_harm_the_others(client: Client, made: Made) -> None:
    """What can be read is taken; of the rest field and expectation are told."""
    answer = client.request("POST", PATH, json=with_alerts({}, {"startsAt": "yesterday"}, {"labels": "x"}))
    assert (202, 1) == (answer.status_code, len(made.alerts))
    assert ["body.alerts.1.startsAt", "body.alerts.2.labels"] == [p["field"] for p in answer.json()["problems"]]
    assert "expected a time" in answer.json()["problems"][0]["expected"]


def test_alerts_that_the_sender_left_out_are_told_and_counted(client: Client, made: Made) -> None:
    """Alertmanager cuts a long notification and says by how much: no silent loss."""
    answer = client.request("POST", PATH, json=ALERTMANAGER | {"truncatedAlerts": 7})
    assert (202, 1) == (answer.status_code, len(made.alerts))
    (fault,) = answer.json()["problems"]
    assert ("body.truncatedAlerts", True) == (fault["field"], "7 alerts" in fault["expected"])
    assert "tollens_alert_problems_total 7.0" in client.request("GET", "/metrics").text
    client.request("POST", PATH, json=with_alerts({"status": "perhaps"}))
    assert "tollens_alert_problems_total 8.0" in client.request("GET", "/metrics").text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"alerts": []}, "body.alerts"),
        ({"alerts": [{}] * (ALERTS + 1)}, "body.alerts"),
        ({"alerts": 3}, "body.alerts"),
        (with_alerts({"status": "perhaps"}), "body.alerts.0.status"),
        (with_alerts({"fingerprint": "a b"}), "body.alerts.0.fingerprint"),
        (with_alerts({"labels": {f"l{k}": "" for k in range(101)}}), "body.alerts.0.labels"),
        ({"name": "x"}, "body.starts_at"),
        (PLAIN | {"start": AT}, "body.start"),
        (PLAIN | {"name": ""}, "body.name"),
        ({}, "body.name"),
    ],
)
def test_what_cannot_be_used_is_named(client: Client, made: Made, body: object, field: str) -> None:
    """422 as a problem, the field at fault in it; nothing was taken."""
    answer = client.request("POST", PATH, json=body)
    assert (422, "application/problem+json", []) == (answer.status_code, answer.headers["content-type"], made.alerts)
    assert field in [fault["field"] for fault in answer.json()["errors"]]


@pytest.mark.parametrize("content", [b"", b"[", b"[1]", b"null", b'"x"', b"\xff"])
def test_what_is_no_object_is_refused(client: Client, content: bytes) -> None:
    """Broken JSON and JSON of another kind are the sender's fault."""
    answer = client.request("POST", PATH, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)


def test_a_long_notification_is_taken_and_a_longer_one_refused(client: Client, made: Made) -> None:
    """Alerts may be larger than questions are; values are cut."""
    long = {"labels": {"alertname": "ChatSlow", "path": "x" * 100_000}}
    assert 202 == client.request("POST", PATH, json=with_alerts(long)).status_code
    assert "x" * LONGEST == made.alerts[0].labels["path"]
    assert 413 == client.request("POST", PATH, json=PLAIN | {"summary": "x" * BODY_BYTES}).status_code


def test_no_room_is_said_so_that_the_sender_tries_again(client: Client, made: Made) -> None:
    """503 with Retry-After: Alertmanager sends all of it again, and what was taken is taken once."""
    made.take = lambda alert: Taken(alert.fingerprint, Outcome.REFUSED, None)
    answer = client.request("POST", PATH, json=ALERTMANAGER)
    assert (503, "60") == (answer.status_code, answer.headers["retry-after"])


def test_a_clock_that_is_ahead_does_no_harm(client: Client, made: Made) -> None:
    """An alert from the future starts now."""
    client.request("POST", PATH, json=PLAIN | {"starts_at": "2199-01-01T00:00:00Z"})
    assert made.alerts[0].starts < 4_000_000_000 * 10**9


def test_the_token_is_asked_for_here_too(made: Made) -> None:
    """Nobody opens incidents without it."""
    with Client(made, Options(token=SecretStr("secret"))) as client:
        refused = client.request("POST", PATH, json=PLAIN)
        taken = client.request("POST", PATH, json=PLAIN, headers={"Authorization": "Bearer secret"})
    assert (401, 202, 1) == (refused.status_code, taken.status_code, len(made.alerts))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=12), inner, max_size=4)),
    max_leaves=10,
)
FIELDS = st.sampled_from([*ALERTMANAGER["alerts"][0]])


@given(changed=st.dictionaries(FIELDS, JSON, max_size=4))
def test_no_alert_whatever_it_holds_is_a_defect(changed: dict[str, Any]) -> None:
    """Any JSON in any field: read, or refused with a reason."""
    try:
        alerts, faults = read(with_alerts(changed), now=T0)
    except RequestValidationError as error:
        assert error.errors()
    else:
        assert (1, []) == (len(alerts), faults)
