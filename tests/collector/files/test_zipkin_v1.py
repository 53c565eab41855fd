"""Zipkin's version 1 gives the spans that version 2 gives of the same requests."""

import json
from typing import Any

import pytest

from collector.files import zipkin_json
from tests.collector.files.log_reading import attributes, source
from tests.collector.files.samples import Told, read_as, sample

GATEWAY, RAG = {"serviceName": "gateway", "ipv4": "10.0.0.1"}, {"serviceName": "rag"}


def note(value: str, micro: int, endpoint: dict[str, str]) -> dict[str, Any]:
    return {"timestamp": micro, "value": value, "endpoint": endpoint}


def tag(key: str, value: object, endpoint: dict[str, str]) -> dict[str, Any]:
    return {"key": key, "value": value, "endpoint": endpoint}


ROOT = {
    "traceId": "0d1a94ebc9256244", "id": "b0", "name": "get", "timestamp": 1796009484999000, "duration": 260000,
    "annotations": [note("sr", 1796009484999000, GATEWAY), note("ss", 1796009485259000, GATEWAY)],
}  # fmt: skip
BOTH = {
    "traceId": "0d1a94ebc9256244", "id": "b1", "parentId": "b0", "name": "post", "timestamp": 1796009485000000,
    "duration": 250000,
    "annotations": [
        note("cs", 1796009485000000, GATEWAY), note("cr", 1796009485250000, GATEWAY),
        note("sr", 1796009484990000, RAG), note("ss", 1796009485190000, RAG), note("cache miss", 1796009485020000, RAG),
    ],
    "binaryAnnotations": [
        tag("sa", True, RAG), tag("http.status_code", "503", GATEWAY), tag("error", "no model", RAG),
    ],
}  # fmt: skip
LOCAL = {
    "traceId": "0d1a94ebc9256244", "id": "b2", "parentId": "b1", "name": "rerank", "timestamp": 1796009485030000,
    "duration": 1000, "binaryAnnotations": [tag("lc", "", RAG)],
}  # fmt: skip
V1 = [ROOT, BOTH, LOCAL]


def of_side(service: dict[str, str]) -> dict[str, Any]:
    """What one service alone reports of the span that both share; only the client knows when it began."""
    told = {key: value for key, value in BOTH.items() if service is GATEWAY or key not in ("timestamp", "duration")}
    for key in ("annotations", "binaryAnnotations"):
        mine = [one for one in BOTH[key] if one["endpoint"] == service or one.get("key") == "sa"]  # type: ignore[index,union-attr]
        told[key] = mine if service is GATEWAY else [one for one in mine if one.get("key") != "sa"]
    return told


def essence(found: Told) -> list[tuple[object, ...]]:
    """Spans with everything that version 1 can tell."""
    return sorted(
        (span.name, span.kind, span.span_id, span.parent_span_id, span.start_time_unix_nano, span.end_time_unix_nano,
         span.status.message, resource["service.name"], attributes(span).get("peer.service", ""),
         tuple(event.name for event in span.events))
        for span, resource in zip(found.spans, found.resources, strict=True)
    )  # fmt: skip


@pytest.mark.parametrize(
    "written", [V1, [ROOT, of_side(GATEWAY), of_side(RAG), LOCAL]], ids=["one span of both", "one span a service"]
)
def test_version_1_tells_what_version_2_tells(written: list[dict[str, Any]]) -> None:
    """Ids, parents, kinds, times, failures, peers and events; a shared span becomes two."""
    found = read_as("zipkin_json", json.dumps(written))
    assert (essence(sample("zipkin")), []) == (essence(found), found.problems)


@pytest.mark.parametrize("written", V1)
def test_each_span_of_version_1_is_known(written: dict[str, Any]) -> None:
    """Also alone, and also without binary annotations."""
    assert 1.0 == zipkin_json.accepts(source(json.dumps([written])))


@pytest.mark.parametrize(
    "change",
    [{"annotations": [3]}, {"annotations": [{"endpoint": RAG}]}, {"annotations": [{"value": [], "endpoint": RAG}]},
     {"annotations": [note("cs", "soon", RAG)], "timestamp": None}, {"binaryAnnotations": [{}]}, {"traceId": None},
     {"annotations": [{"value": "sr", "endpoint": 3}], "timestamp": "x"}],
    ids=range(7),
)  # fmt: skip
def test_what_is_no_span_is_named_and_costs_no_other(change: dict[str, Any]) -> None:
    """By its place in the array."""
    found = read_as("zipkin_json", json.dumps([BOTH | change, ROOT]))
    assert (["get"], {"[0]"}) == ([span.name for span in found.spans], {problem.field for problem in found.problems})
