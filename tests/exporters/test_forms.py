"""What Slack, PagerDuty and Alertmanager are sent: their forms, their limits, nothing that telemetry could abuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from correlator.model.evidence import Kind
from correlator.model.moments import rfc3339
from correlator.model.notices import Attempt, Change, Notice
from exporters.alertmanager import LASTS_NS
from tests.exporters.incidents import closed, incident, told
from tests.exporters.telling import KEY, target


def sent(id: str, folder: Path, notice: Notice, **options: Any) -> Any:
    to = target(id, folder, "http://127.0.0.1:1", **options)
    return json.loads(to.requests(notice, Attempt(at=1, secret=to.secret()))[0].body)


def texts(blocks: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for block in blocks for part in (*block.get("fields", ()), block.get("text")) if part]


def test_slack_ranks_the_causes(tmp_path: Path) -> None:
    """A header, the sentence, the facts, the causes in order, and a link."""
    message = sent("slack", tmp_path, told())
    assert "header" == message["blocks"][0]["type"]
    causes = next(text for text in texts(message["blocks"]) if text.startswith("Causes"))
    lines = causes.splitlines()[1:]
    assert [f"{n}." for n in range(1, len(lines) + 1)] == [line.split()[0] for line in lines]
    assert "<https://t.example/api/v1/incidents/1f0c|The whole diagnosis>" == texts(message["blocks"])[-1]


@pytest.mark.parametrize("text", ["<!channel> & <@U1>", "x" * 50_000, "&" * 5_000])
def test_slack_keeps_to_its_limits_and_wakes_nobody(text: str, tmp_path: Path) -> None:
    """At most 50 blocks, 150 characters in a header, 2000 in a field, 3000 in a text; markup is escaped."""
    message = sent("slack", tmp_path, told(of=incident(title=text, where=text, note=text)))
    header, *blocks = message["blocks"]
    assert len(header["text"]["text"]) <= 150
    assert len(blocks) < 50
    assert all(len(each) <= 3_000 for each in texts(blocks))
    assert all(len(field["text"]) <= 2_000 for block in blocks for field in block.get("fields", ()))
    assert all("<!" not in each and "<@" not in each for each in (*texts(blocks), message["text"]))


@pytest.mark.parametrize(
    ("change", "action"), [(Change.OPENED, "trigger"), (Change.UPDATED, "trigger"), (Change.RESOLVED, "resolve")]
)
def test_pagerduty_has_one_alert_for_an_incident(change: Change, action: str, tmp_path: Path) -> None:
    """Every event of an incident has the same key; the routing key is the secret."""
    event = sent("pagerduty", tmp_path, told(change))
    assert (KEY, action, "tollens-1f0c") == (event["routing_key"], event["event_action"], event["dedup_key"])
    assert {"summary", "source", "severity", "timestamp", "class", "custom_details"} == set(event["payload"])
    assert "rag-api" == event["payload"]["source"]
    assert event["payload"]["custom_details"]["causes"]


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"severity": 1.2}, "warning"),
        ({"severity": 2.5}, "error"),
        ({"severity": 5.0}, "critical"),
        ({"severity": 1.2, "kind": Kind.AVAILABILITY}, "critical"),
    ],
)
def test_pagerduty_is_told_how_grave_it_is(changes: dict[str, Any], severity: str, tmp_path: Path) -> None:
    """By how far it is beyond what makes a symptom; no availability is always critical."""
    assert severity == sent("pagerduty", tmp_path, told(of=incident(**changes)))["payload"]["severity"]


def test_pagerduty_summaries_are_cut(tmp_path: Path) -> None:
    """1024 characters."""
    event = sent("pagerduty", tmp_path, told(of=incident(title="x" * 5_000)))
    assert len(event["payload"]["summary"]) <= 1_024


def test_alertmanager_labels_never_change(tmp_path: Path) -> None:
    """Kind, severity and title of an incident may become others; its labels are the same to the end."""
    first = sent("alertmanager", tmp_path, told(), labels={"severity": "page"})[0]
    later = incident(kind=Kind.ERRORS, severity=9.0, title="errors now")
    second = sent("alertmanager", tmp_path, told(Change.UPDATED, later), labels={"severity": "page"})[0]
    last = sent("alertmanager", tmp_path, told(Change.RESOLVED), labels={"severity": "page"})[0]
    expected = {"alertname": "TollensIncident", "tollens_incident": "1f0c", "service": "rag-api", "severity": "page"}
    assert [expected] * 3 == [each["labels"] for each in (first, second, last)]
    assert 1 == len({each["startsAt"] for each in (first, second, last)})


def test_alertmanager_is_told_the_end(tmp_path: Path) -> None:
    """An open incident ends far ahead, a closed one when it closed; causes are ranked in annotations."""
    first, last = (sent("alertmanager", tmp_path, told(change))[0] for change in (Change.OPENED, Change.RESOLVED))
    assert rfc3339(told().at + LASTS_NS) == first["endsAt"]
    assert rfc3339(closed().closed or 0) == last["endsAt"]
    assert first["annotations"]["cause_1"].split(",")[0] in first["annotations"]["summary"]
    assert "https://t.example/api/v1/incidents/1f0c" == first["generatorURL"]


def test_what_is_not_diagnosed_is_not_called_well(tmp_path: Path) -> None:
    """Without a diagnosis, and without a supported cause, messages say so."""
    bare = sent("pagerduty", tmp_path, told(of=incident(diagnosis=None)))["payload"]["summary"]
    unsure = incident(diagnosis={"findings": [{"hypothesis": "a", "verdict": "untestable", "probability": 0.1}]})
    assert bare.endswith("Not diagnosed yet.")
    assert sent("pagerduty", tmp_path, told(of=unsure))["payload"]["summary"].endswith("supported by the evidence.")


def test_a_merged_incident_says_where_it_went(tmp_path: Path) -> None:
    """Resolved, because it is part of another."""
    merged = closed(merged_into="other")
    summary = sent("pagerduty", tmp_path, told(Change.RESOLVED, merged))["payload"]["summary"]
    assert summary.endswith("It is part of incident other.")
