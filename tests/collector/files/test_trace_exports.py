"""Jaeger and Zipkin exports: parents, links, kinds, states, events and resources arrive as OTLP."""

import json
from typing import Any

import pytest

from collector.files import jaeger_json, zipkin_json
from tests.collector.files.log_reading import attributes, source
from tests.collector.files.samples import JAEGER, ZIPKIN, Told, read_as, sample

ERROR, CLIENT, SERVER = 2, 3, 2


def jaeger(value: Any) -> Told:
    return read_as("jaeger_json", json.dumps(value))


def zipkin(value: Any) -> Told:
    return read_as("zipkin_json", json.dumps(value))


def test_a_jaeger_span_keeps_what_it_says() -> None:
    """Times in microseconds, kind, failure, numbers, events, and the process as resource."""
    found = sample("jaeger")
    call, told = found.span("call")
    assert (CLIENT, ERROR) == (call.kind, call.status.code)
    assert (1796009485010000000, 200_000_000) == (
        call.start_time_unix_nano, call.end_time_unix_nano - call.start_time_unix_nano,
    )  # fmt: skip
    assert 9007199254740993 == told["big"]
    assert [("retry", {"attempt": 2})] == [(event.name, attributes(event)) for event in call.events]
    assert [{"service.name": "gateway", "host.name": "n1"}, {"service.name": "rag"}] == found.resources


def test_a_jaeger_childs_reference_is_its_parent_and_others_are_links() -> None:
    """CHILD_OF wins over FOLLOWS_FROM whatever the order; the rest is kept as links."""
    call, _ = sample("jaeger").span("call")
    assert "00000000000000a1" == call.parent_span_id.hex()
    assert ["00000000000000a9"] == [link.span_id.hex() for link in call.links]
    assert "00000000000000001e223ff1f80f1c69" == call.trace_id.hex()


def test_jaeger_spans_of_elasticsearch_are_read_line_by_line() -> None:
    """One span a line with its own process, tags as a map, a search hit around it."""
    span = JAEGER["data"][0]["spans"][0] | {"process": {"serviceName": "es"}, "tag": {"http@method": "GET"}}
    found = read_as("jaeger_json", json.dumps(span) + "\n" + json.dumps({"_source": span | {"spanID": "a5"}}) + "\n")
    assert ["es", "es"] == [resource["service.name"] for resource in found.resources]
    assert ["GET", "GET"] == [attributes(one)["http.method"] for one in found.spans]


@pytest.mark.parametrize("harm", [{"startTime": "soon"}, {"spanID": "xyz"}, {"duration": None}, {"processID": "p9"}])
def test_a_bad_jaeger_span_is_named_and_the_rest_read(harm: dict[str, Any]) -> None:
    """The problem tells which span of the document it was."""
    value = json.loads(json.dumps(JAEGER))
    value["data"][0]["spans"][0] |= harm
    found = jaeger(value)
    assert ["call"] == [span.name for span in found.spans]
    assert ["data[0].spans[0]"] == [problem.field for problem in found.problems]


def test_a_jaeger_export_that_is_cut_is_named() -> None:
    """A file that ends in the midst is a problem, not silence."""
    found = read_as("jaeger_json", json.dumps(JAEGER)[:-30])
    assert ([], 1) == (found.spans, len(found.problems))


def test_a_zipkin_span_that_two_share_becomes_two() -> None:
    """The server's half lies below the client's, its child below the server's, and clocks stay as they are."""
    found = sample("zipkin")
    client, server = (span for span in found.spans if span.name == "post")
    (root, _), (rerank, _) = found.span("get"), found.span("rerank")
    assert (CLIENT, SERVER) == (client.kind, server.kind)
    assert (root.span_id, client.span_id, server.span_id) == (
        client.parent_span_id, server.parent_span_id, rerank.parent_span_id,
    )  # fmt: skip
    assert 4 == len({span.span_id for span in found.spans})
    assert server.start_time_unix_nano < client.start_time_unix_nano


def test_zipkin_failures_are_failures() -> None:
    """An `error` tag holds the reason, and a status of 500 and above failed as well."""
    client, server = (span for span in sample("zipkin").spans if span.name == "post")
    assert [(ERROR, "HTTP 503"), (ERROR, "no model")] == [
        (span.status.code, span.status.message) for span in (client, server)
    ]
    assert "rag" == attributes(client)["peer.service"]
    assert ["cache miss"] == [event.name for event in server.events]


def test_zipkin_spans_without_times_or_durations_are_said() -> None:
    """A span without duration counts as a moment and is named; one without a time is left out."""
    started = {key: value for key, value in ZIPKIN[3].items() if key != "duration"}
    without = {key: value for key, value in ZIPKIN[1].items() if key not in ("timestamp", "duration")}
    found = zipkin([started, without])
    assert ["rerank"] == [span.name for span in found.spans]
    assert {"startTimeUnixNano", "duration"} == {problem.field for problem in found.problems}


def test_whole_spans_of_a_cut_zipkin_array_are_read() -> None:
    """What came before the cut is used, and the cut is named."""
    found = read_as("zipkin_json", json.dumps(ZIPKIN)[:-20])
    assert (3, 1) == (len(found.spans), len(found.problems))


@pytest.mark.parametrize("text", ["[1, null, {}]", '[{"traceId": []}]', '{"data": 3}', '{"spans": {}}', "[[[[]]]]"])
def test_other_json_is_no_crash(text: str) -> None:
    """Shapes that are none of ours are named one by one."""
    for reader in ("jaeger_json", "zipkin_json"):
        assert [] == read_as(reader, text).spans
    assert (0.0, 0.0) == (jaeger_json.accepts(source(text)), zipkin_json.accepts(source(text)))
