"""Log records that came as OTLP are recognised by their text, and are otherwise left as they were."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from collector.files._events import APPLICATION, PHRASES
from correlator.model.records import Signal
from tests.collector.files.support import T0, json_lines, log, logs, merged, otlp_json, read_bytes, requests

RETRY = "Retrying request to /chat/completions in 0.44 seconds"


def as_json(request: Message) -> bytes:
    return json_lines(otlp_json(request))


def as_protobuf(request: Message) -> bytes:
    payload = request.SerializeToString()
    return len(payload).to_bytes(4, "big") + payload


FORMS = pytest.mark.parametrize("written", [as_json, as_protobuf])
Written = Callable[[Message], bytes]


def records(content: bytes) -> list[Any]:
    batches, problems = read_bytes(content)
    assert [] == problems
    return [
        record
        for resource in merged(batches, Signal.LOGS).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def request(*found: dict[str, Any]) -> Message:
    """These records as one request, read from OTLP JSON without the reader's help."""
    out = ParseDict(logs(*found), ExportLogsServiceRequest())
    out.resource_logs[0].resource.attributes.add(key="service.name").value.string_value = "rag"
    return out


def text(value: str) -> dict[str, Any]:
    return {"body": {"stringValue": value}}


def attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


@FORMS
@pytest.mark.parametrize(
    ("fields", "event"),
    [
        (text(RETRY), "tollens.retry"),
        (text("HTTP 429 Too Many Requests; will retry"), "tollens.retry"),
        (text("This model's maximum context length is 4096 tokens"), "tollens.context_overflow"),
        (text("MAXIMUM  CONTEXT\n LENGTH"), "tollens.context_overflow"),
        (text("answer failed") | {"attributes": [attribute("exception.message", "prompt is too long")]},
         "tollens.context_overflow"),
        (text("answer failed") | {"attributes": [attribute("exception.type", "httpx.PoolTimeout")]},
         "tollens.pool_timeout"),
        (text("answer failed") | {"attributes": [attribute("exception.stacktrace", "...\nhttpcore.PoolTimeout\n")]},
         "tollens.pool_timeout"),
        (text("answer failed") | {"attributes": [attribute("error.code", "context_length_exceeded")]},
         "tollens.context_overflow"),
        ({"body": {"kvlistValue": {"values": [attribute("message", RETRY)]}}}, "tollens.retry"),
        (text("x" * 100_000) | {"attributes": [attribute("exception.message", "PoolTimeout")]},
         "tollens.pool_timeout"),
    ],
)  # fmt: skip
def test_a_happening_is_named(written: Written, fields: dict[str, Any], event: str) -> None:
    """Body and error attributes are read as the lines of a plain log are; nothing else changes."""
    plain, telling = log(), log(**fields)
    before, found = records(written(request(plain, telling)))
    assert ("", event) == (before.event_name, found.event_name)
    found.event_name = ""
    assert request(plain, telling).resource_logs[0].scope_logs[0].log_records[1] == found  # type: ignore[attr-defined]


@FORMS
@pytest.mark.parametrize(
    "fields",
    [
        text("answered in 429 ms with 503 tokens"),
        text("429 ms") | {"attributes": [attribute("user.note", "retrying")]},
        text("answered") | {"attributes": [attribute("gen_ai.prompt", "maximum context length")]},
        {"body": {"intValue": "429"}},
        {"body": {}},
    ],
)
def test_what_tells_of_nothing_has_no_name(written: Written, fields: dict[str, Any]) -> None:
    """Numbers that look like a status, and texts that users wrote, name no event; nor does a neighbour's."""
    found = records(written(request(log(**fields), log(**text(RETRY)), log(**fields))))
    assert ["", "tollens.retry", ""] == [record.event_name for record in found]


@FORMS
def test_a_name_is_kept(written: Written) -> None:
    """An event name stays, whatever the text says, also where it is an attribute as it used to be."""
    named = log(eventName="exception", **text(RETRY))
    older = log(attributes=[attribute("event.name", "gen_ai.user.message")], **text(RETRY))
    assert ["exception", ""] == [record.event_name for record in records(written(request(named, older)))]


@settings(max_examples=60)
@given(
    phrase=st.sampled_from([phrase for event in sorted(APPLICATION) for phrase in PHRASES[event]]),
    gap=st.sampled_from(["", " ", " in 3 s, ", " " + "z" * 150 + " "]),
    around=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    shout=st.booleans(),
)
def test_every_phrase_is_found(phrase: str, gap: str, around: str, shout: bool) -> None:
    """No phrase of a plain log is lost in OTLP, in whatever it is wrapped."""
    body = f"{around} {phrase.replace('…', gap)} {around}"
    (found,) = records(as_protobuf(request(log(**text(body.upper() if shout else body)))))
    assert found.event_name in APPLICATION


@settings(max_examples=40)
@given(drawn=requests(Signal.LOGS))
def test_both_forms_say_the_same(drawn: Message) -> None:
    """A request reads alike as JSON and as protobuf, whatever else is in it."""
    drawn.resource_logs[0].scope_logs.add().log_records.add(time_unix_nano=T0).body.string_value = RETRY  # type: ignore[attr-defined]
    assert records(as_json(drawn)) == records(as_protobuf(drawn))
