"""The routes: what is asked reaches the services, what they say comes back in the promised shape."""

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from correlator.api import Asked, shapes
from correlator.api.diagnosis import Diagnosis
from correlator.api.openapi import document
from correlator.model.errors import InputError
from correlator.model.evidence import Kind, Window, Windows
from correlator.model.incidents import State, Wanted
from tests.correlator.api.served import ANSWER, QUESTION, T0, TRACE, Client, Made

ROOT = Path(__file__).parents[3]
S = 1_000_000_000
PATHS = [
    "/api/v1/incidents",
    "/api/v1/incidents/a",
    "/api/v1/hypotheses",
    "/api/v1/hypotheses/kv_cache_preemption",
    "/api/v1/signals",
    f"/api/v1/traces/{TRACE}",
]


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def client(made: Made) -> Iterator[Client]:
    with Client(made) as client:
        yield client


def test_filters_reach_the_store(client: Client, made: Made) -> None:
    """Every filter is passed on, times as nanoseconds."""
    query = {
        "state": "open",
        "kind": "errors",
        "where": "x",
        "since": "2026-11-30T03:35:00Z",
        "limit": 7,
        "cursor": "a",
    }
    client.get("/api/v1/incidents", **query, until="2026-11-30T04:35:00.000000001+01:00")
    expected = Wanted(state=State.OPEN, kind=Kind.ERRORS, where="x", since=T0, until=T0 + 1, cursor="a", limit=7)
    assert [expected] == made.asked


def test_a_page_names_the_next(client: Client) -> None:
    """`next` is null on the last page only, and heads carry no diagnosis."""
    first = client.get("/api/v1/incidents", limit=1).json()
    whole = client.get("/api/v1/incidents").json()
    assert ("a", None) == (first["next"], whole["next"])
    assert ["a", "b"] == [head["id"] for head in whole["incidents"]]
    assert [False, False] == ["diagnosis" in head for head in whole["incidents"]]


def test_an_incident_comes_with_its_diagnosis(client: Client) -> None:
    """Times are RFC 3339; an incident that was not diagnosed has null."""
    found = client.get("/api/v1/incidents/a").json()
    assert (ANSWER, "2026-11-30T03:35:00.000000001Z", "closed") == (found["diagnosis"], found["closed"], found["state"])
    assert client.get("/api/v1/incidents/b").json()["diagnosis"] is None


def test_a_question_reaches_the_engine(client: Client, made: Made) -> None:
    """Windows in nanoseconds, kind and place as given; the answer is the engine's object."""
    answer = client.request("POST", "/api/v1/diagnose", json=QUESTION | {"symptom": "latency", "where": "rag"})
    windows = Windows(Window(T0, T0 + 60 * S), Window(T0 + 60 * S, T0 + 3720 * S + 500_000_000), given=True)
    assert [Asked(windows, Kind.LATENCY, "rag")] == made.asked
    assert ANSWER == answer.json()


def test_answers_have_the_shapes_that_openapi_tells(client: Client) -> None:
    """Every answer validates against the model its route declares, the diagnosis also against the published schema."""
    models = (
        shapes.IncidentPage,
        shapes.IncidentWhole,
        shapes.Hypotheses,
        shapes.Hypothesis,
        shapes.Signals,
        shapes.Trace,
    )
    for path, model in zip(PATHS, models, strict=True):
        model.model_validate_json(client.get(path).content)
    answer = client.request("POST", "/api/v1/diagnose", json=QUESTION).content
    Diagnosis.model_validate_json(answer)
    jsonschema.validate(json.loads(answer), json.loads((ROOT / "docs" / "diagnosis.schema.json").read_text()))


def test_the_diagnosis_has_the_fields_of_the_published_schema() -> None:
    """The API's shape and `docs/diagnosis.schema.json` name the same fields, all the way down."""
    published = json.loads((ROOT / "docs" / "diagnosis.schema.json").read_text())
    assert fields(published, published) == fields(own := Diagnosis.model_json_schema(), own)


def fields(schema: dict, root: dict, place: str = "") -> set[str]:
    """Dotted names of all properties."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    out = set()
    for name, inner in schema.get("properties", {}).items():
        out |= {f"{place}{name}"} | fields(inner, root, f"{place}{name}.")
    for inner in [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]:
        out |= fields(inner, root, place)
    return out


@pytest.mark.parametrize("path", PATHS)
def test_unchanged_is_304(client: Client, path: str) -> None:
    """Who names the tag of what it has gets no body; who names another, or none, gets all."""
    first = client.get(path)
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(path, {"If-None-Match": known})
        assert (304, b"", tag) == (again.status_code, again.content, again.headers["etag"])
    assert first.content == client.get(path, {"If-None-Match": '"other"'}).content


def test_a_change_changes_the_tag(client: Client, made: Made) -> None:
    """An incident more is another list."""
    tag = client.get("/api/v1/incidents").headers["etag"]
    made.incidents.pop()
    assert 200 == client.get("/api/v1/incidents", {"If-None-Match": tag}).status_code


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/incidents/nobody", 404),
        ("/api/v1/incidents/a%20b", 422),
        ("/api/v1/hypotheses/none", 404),
        (f"/api/v1/traces/{'0' * 32}", 404),
        ("/api/v1/traces/xyz", 422),
        ("/api/v1/incidents/", 404),
        ("/nowhere", 404),
        ("/docs", 404),
        ("/api/v1/incidents?limit=0", 422),
        ("/api/v1/incidents?limit=501", 422),
        ("/api/v1/incidents?state=bad", 422),
        ("/api/v1/incidents?since=1796009700", 422),
        ("/api/v1/incidents?since=2026-11-30T03:35:00", 422),
        ("/api/v1/incidents?since=2026-02-30T03:35:00Z", 422),
        ("/api/v1/incidents?since=1900-01-01T00:00:00Z", 422),
        ("/api/v1/incidents?where=%00", 422),
        ("/api/v1/incidents?cursor=made-up", 422),
    ],
)
def test_errors_are_problems(client: Client, path: str, status: int) -> None:
    """Whatever is wrong with a path or a parameter: RFC 9457, with the status and no surprise."""
    answer = client.get(path)
    assert (status, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert status == answer.json()["status"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"[]", "body"),
        (b'{"where": "\\ud800", "baseline": {}, "incident": {}}', "body.where"),
        (
            json.dumps(QUESTION | {"incident": QUESTION["baseline"] | {"end": "2026-11-30T03:35:00Z"}}).encode(),
            "body.incident",
        ),
        (json.dumps(QUESTION | {"smptom": "latency"}).encode(), "body.smptom"),
        (
            json.dumps(QUESTION | {"baseline": QUESTION["baseline"] | {"start": "2026-11-01T00:00:00Z"}}).encode(),
            "body.baseline",
        ),
        (json.dumps(QUESTION | {"symptom": "slow"}).encode(), "body.symptom"),
        (json.dumps(QUESTION | {"where": ""}).encode(), "body.where"),
        (json.dumps({"incident": QUESTION["incident"]}).encode(), "body.baseline"),
    ],
)
def test_a_bad_question_names_the_field(client: Client, made: Made, body: bytes, field: str) -> None:
    """The field at fault is named, what was sent is not repeated, and the engine is not asked."""
    answer = client.request("POST", "/api/v1/diagnose", content=body, headers={"Content-Type": "application/json"})
    assert 422 == answer.status_code
    assert any(fault["field"].startswith(field) for fault in answer.json()["errors"])
    assert [] == made.asked


def test_windows_that_cannot_be_compared_are_told(client: Client, made: Made) -> None:
    """What the engine says of the input reaches the client."""

    def refuse(asked: Asked) -> dict[str, object]:
        raise InputError("the baseline window holds no data")

    made.diagnose = refuse
    answer = client.request("POST", "/api/v1/diagnose", json=QUESTION)
    assert (422, "the baseline window holds no data") == (answer.status_code, answer.json()["detail"])


def test_a_wrong_method_is_told_the_right_ones(client: Client) -> None:
    """405 with Allow, as a problem."""
    answer = client.request("DELETE", "/api/v1/incidents")
    assert (405, "GET", 405) == (answer.status_code, answer.headers["allow"], answer.json()["status"])


def test_a_defect_is_a_problem_that_tells_nothing_inside(client: Client, made: Made) -> None:
    """500 without the message of the exception, and the next request is served."""

    def fail(asked: Asked) -> dict[str, object]:
        raise RuntimeError("password in here")

    made.diagnose = fail
    answer = client.request("POST", "/api/v1/diagnose", json=QUESTION)
    assert (500, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert "password" not in answer.text
    assert 200 == client.get("/healthz").status_code


def test_readiness_says_what_is_missing(client: Client, made: Made) -> None:
    """Ready, or 503 with the reason; liveness does not depend on it."""
    assert 200 == client.get("/readyz").status_code
    made.missing = "the store is closed"
    answer = client.get("/readyz")
    assert (503, "the store is closed", "5") == (
        answer.status_code,
        answer.json()["detail"],
        answer.headers["retry-after"],
    )
    assert 200 == client.get("/healthz").status_code


def test_the_published_document_is_up_to_date() -> None:
    """`docs/openapi.json` is what `python -m correlator.api.openapi` prints."""
    assert document() == (ROOT / "docs" / "openapi.json").read_text()
