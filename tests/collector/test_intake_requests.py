"""What is let through as it came, what is left out of a request, and what is refused whole."""

import json
import random
from collections.abc import Callable

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from benchmarks.generate import genai_trace_requests
from collector.receiving.requests import (
    MAX_JSON_VALUES,
    MAX_SCREENED,
    MAX_UNFIT,
    Malformed,
    TooMany,
    checked_json,
    checked_protobuf,
)
from correlator.model.records import Signal
from tests.collector.telemetry import (
    KINDS,
    NOW,
    RECORDS,
    SOUND,
    TRACE_ID,
    log,
    logs,
    points,
    span,
    spans,
)

SIGNALS = list(Signal)


@pytest.mark.parametrize("signal", SIGNALS)
def test_sound_requests_pass_untouched(signal: Signal) -> None:
    """The very bytes object of a sound request goes on, its records counted."""
    checked = checked_protobuf(signal, SOUND[signal])
    assert SOUND[signal] is checked.payload
    assert (RECORDS[signal], 0, "") == (checked.records, checked.rejected, checked.message)


@pytest.mark.parametrize("signal", SIGNALS)
def test_an_empty_request_is_sound(signal: Signal) -> None:
    """A request without a byte has no records and nothing wrong."""
    checked = checked_protobuf(signal, b"")
    assert (0, 0) == (checked.records, checked.rejected)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("trace_id", bytes(16), "traceId"),
        ("trace_id", b"", "traceId"),
        ("trace_id", TRACE_ID[:8], "traceId"),
        ("span_id", bytes(8), "spanId"),
        ("span_id", b"123456789", "spanId"),
        ("start_time_unix_nano", 0, "time is zero"),
        ("start_time_unix_nano", NOW // 1000, "microseconds"),
        ("end_time_unix_nano", NOW - 1, "ends before it starts"),
        ("end_time_unix_nano", 2**63, "after the year 2099"),
    ],
)
def test_an_unsound_span_is_left_out(field: str, value: object, said: str) -> None:
    """A span that no table should hold is rejected with a reason, and its neighbours stay."""
    checked = checked_protobuf(Signal.TRACES, spans(span(name="a"), span(**{field: value}), span(name="b")))
    assert (spans(span(name="a"), span(name="b")), 2, 1) == (checked.payload, checked.records, checked.rejected)
    assert said in checked.message


def test_links_do_not_stand_in_for_the_ids_of_spans() -> None:
    """A span without an id is found out though its link has one."""
    linked = span(trace_id=b"", links=[{"trace_id": TRACE_ID, "span_id": b"12345678"}])
    assert 1 == checked_protobuf(Signal.TRACES, spans(linked)).rejected


def test_points_of_every_kind_are_counted_and_screened() -> None:
    """A time of zero is rejected in each kind of metric."""
    checked = checked_protobuf(Signal.METRICS, points(NOW, 0))
    assert (points(NOW), 3, 3) == (checked.payload, checked.records, checked.rejected)


@pytest.mark.parametrize(
    ("record", "rejected"),
    [
        (log(), 0),
        (log(time_unix_nano=0, observed_time_unix_nano=NOW), 0),
        (log(observed_time_unix_nano=5), 0),
        (log(time_unix_nano=0), 1),
        (log(time_unix_nano=7, observed_time_unix_nano=NOW), 1),
    ],
)
def test_a_log_needs_one_time(record: object, rejected: int) -> None:
    """The time of the event counts, or where it has none the time when it was observed."""
    checked = checked_protobuf(Signal.LOGS, logs(log(observed_time_unix_nano=NOW), record))
    assert (2 - rejected, rejected) == (checked.records, checked.rejected)


def test_a_rejected_span_costs_no_other() -> None:
    """Of a thousand spans with one in ten spoilt exactly these are missing."""
    request = KINDS[Signal.TRACES].FromString(next(genai_trace_requests(1000, seed=7)))
    found = [s for r in request.resource_spans for c in r.scope_spans for s in c.spans]
    spoilt = random.Random(7).sample(range(len(found)), 100)
    for index in spoilt:
        found[index].trace_id = bytes(16)
    checked = checked_protobuf(Signal.TRACES, request.SerializeToString())
    kept = KINDS[Signal.TRACES].FromString(checked.payload)
    ids = [s.span_id for r in kept.resource_spans for c in r.scope_spans for s in c.spans]
    assert [s.span_id for s in found if any(s.trace_id)] == ids
    assert (900, 100) == (checked.records, checked.rejected)


def test_too_many_unsound_records_are_not_looked_at_one_by_one() -> None:
    """A request of nothing but empty spans is refused before objects are made of them."""
    empty = b"\x12\x00" * (MAX_SCREENED + 1)
    with pytest.raises(TooMany):
        checked_protobuf(Signal.TRACES, _wrapped(0x0A, _wrapped(0x12, empty)))


def test_json_of_countless_values_is_not_unfolded() -> None:
    """Too many objects, or too many records that do not fit, are refused before they fill the memory."""
    with pytest.raises(TooMany):
        checked_json(Signal.TRACES, b'{"resourceSpans": [' + b"{}," * MAX_JSON_VALUES + b"{}]}")
    with pytest.raises(Malformed, match="unfit records"):
        checked_json(Signal.TRACES, b'{"resourceSpans": [' + b"1," * MAX_UNFIT + b"1]}")


def _wrapped(tag: int, content: bytes) -> bytes:
    size, out = len(content), bytearray([tag])
    while size >> 7:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size]) + content


@st.composite
def spoilt(draw: st.DrawFn, signal: Signal) -> bytes:
    """A sound request with some of its bytes changed, cut out or put in."""
    payload = bytearray(SOUND[signal])
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(payload)))
        payload[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(payload)


@given(st.data())
def test_what_the_official_class_cannot_decode_is_malformed(data: st.DataObject) -> None:
    """No bytes pass that the official class of the signal refuses."""
    signal = data.draw(st.sampled_from(SIGNALS))
    payload = data.draw(st.one_of(st.binary(max_size=64), spoilt(signal)))
    assert _decodes(signal, payload) or not _passes(lambda: checked_protobuf(signal, payload))


VALUES: st.SearchStrategy[AnyValue] = st.recursive(
    st.builds(AnyValue, string_value=st.text(max_size=5)) | st.builds(AnyValue, int_value=st.integers(-9, 2**63 - 1)),
    lambda inner: (
        st.builds(AnyValue, array_value=st.builds(ArrayValue, values=st.lists(inner, max_size=3)))
        | st.builds(AnyValue, bytes_value=st.binary(max_size=5))
    ),
)
ATTRIBUTES = st.lists(st.builds(KeyValue, key=st.text(max_size=5), value=VALUES), max_size=4)
EVENTS = st.lists(st.builds(Span.Event, name=st.text(max_size=3), attributes=ATTRIBUTES), max_size=3)
SPANS = st.lists(st.builds(span, name=st.text(max_size=9), attributes=ATTRIBUTES, events=EVENTS), max_size=5)


@given(resources=st.lists(SPANS, max_size=3))
def test_whatever_a_sound_span_carries_passes_untouched(resources: list[list[Span]]) -> None:
    """Attributes, events and resources of any kind and number are no hindrance."""
    payload = b"".join(spans(*found) for found in resources)
    checked = checked_protobuf(Signal.TRACES, payload)
    assert (payload, sum(map(len, resources)), 0) == (checked.payload, checked.records, checked.rejected)


def test_a_time_of_the_wrong_wire_type_does_not_pass() -> None:
    """Where protobuf would skip a time as unknown, the span has none."""
    wrong = span()
    wrong.ClearField("end_time_unix_nano")
    for length in (5, 8, 16):
        payload = _wrapped(0x12, wrong.SerializeToString() + _wrapped(0x42, bytes(length)))
        request = _wrapped(0x0A, _wrapped(0x12, payload))
        assert not _passes(lambda request=request: checked_protobuf(Signal.TRACES, request)) or (
            1 == checked_protobuf(Signal.TRACES, request).rejected
        )


def _decodes(signal: Signal, payload: bytes) -> bool:
    try:
        KINDS[signal].FromString(payload)
    except DecodeError:
        return False
    return True


def _passes(check: Callable[[], object]) -> bool:
    try:
        check()
    except Malformed:
        return False
    return True


def test_bad_utf8_and_deep_nesting_are_malformed() -> None:
    """What protobuf itself forbids inside an attribute is found though nobody reads it."""
    good = spans(span(name="name"))
    assert good.replace(b"name", b"n\xffme") != good
    with pytest.raises(Malformed):
        checked_protobuf(Signal.TRACES, good.replace(b"name", b"n\xffme"))
    value = b"\x0a\x01x"
    for _ in range(200):
        value = _wrapped(0x2A, _wrapped(0x0A, value))
    nested = _wrapped(0x4A, b"\x0a\x01k" + _wrapped(0x12, value))
    with pytest.raises(Malformed):
        checked_protobuf(Signal.TRACES, _wrapped(0x0A, _wrapped(0x12, _wrapped(0x12, nested))))


@pytest.mark.parametrize("signal", SIGNALS)
@given(data=st.data())
def test_what_is_kept_is_sound(signal: Signal, data: st.DataObject) -> None:
    """Checking twice finds nothing more, and no record is both kept and rejected."""
    try:
        checked = checked_protobuf(signal, data.draw(spoilt(signal)))
    except Malformed:
        return
    again = checked_protobuf(signal, checked.payload)
    assert (checked.payload, checked.records, 0) == (again.payload, again.records, again.rejected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not valid JSON"),
        (b"[]", "expected an object"),
        (b'{"resourceSpans": 3}', "resourceSpans: expected an array"),
        (b'{"resourceLogs": []}', "belongs to /v1/logs"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"9" * 10_000, "not valid JSON"),
    ],
)
def test_json_that_is_no_request_is_malformed(text: bytes, said: str) -> None:
    """JSON that cannot be a request of the signal is refused with the place."""
    with pytest.raises(Malformed, match=said):
        checked_json(Signal.TRACES, text)


def test_json_becomes_the_same_protobuf() -> None:
    """A request in OTLP JSON, with ids in hex and times as text, is kept as its protobuf twin."""
    text = b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "%s", "spanId": "%s", "startTimeUnixNano": "%d",'
    text += b' "endTimeUnixNano": "%d", "unheardOf": 1}]}]}]}'
    text %= (TRACE_ID.hex().encode(), span().span_id.hex().encode(), NOW, NOW + 5)
    checked = checked_json(Signal.TRACES, text)
    assert (spans(span()), 1, 0) == (checked.payload, checked.records, checked.rejected)


def test_json_records_that_do_not_fit_are_left_out() -> None:
    """Of three spans one with a bad id and one with a bad time are rejected, and both reasons told."""
    good = '{"traceId": "%s", "spanId": "%s", "startTimeUnixNano": %d, "endTimeUnixNano": %d}'
    ids = (TRACE_ID.hex(), span().span_id.hex())
    three = ", ".join([good % (*ids, NOW, NOW + 5), good % ("xyz", ids[1], NOW, NOW), good % (*ids, 0, NOW)])
    checked = checked_json(Signal.TRACES, f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{three}]}}]}}]}}'.encode())
    assert (spans(span()), 1, 2) == (checked.payload, checked.records, checked.rejected)
    assert "resourceSpans[0].scopeSpans[0].spans[1].traceId: expected 32 hex" in checked.message
    assert "startTimeUnixNano: time is zero" in checked.message


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)))
@example([])
def test_any_json_is_taken_or_malformed(value: object) -> None:
    """Whatever stands under the key of a signal, checking ends in a result or in Malformed."""
    for signal in SIGNALS:
        key = next(iter(MessageToDict(KINDS[signal].FromString(SOUND[signal]))))
        _passes(lambda key=key, signal=signal: checked_json(signal, json.dumps({key: value}).encode()))  # type: ignore[misc]


def test_a_log_that_tells_of_a_happening_gets_its_name() -> None:
    """A pool time-out sent live is the event it would be in a file; its neighbour stays as it came."""
    told = log(body=AnyValue(string_value="httpx.PoolTimeout: no connection in 5 s"))
    checked = checked_protobuf(Signal.LOGS, logs(told, log()))
    kept = ExportLogsServiceRequest.FromString(checked.payload).resource_logs[0].scope_logs[0].log_records
    assert ["tollens.pool_timeout", ""] == [record.event_name for record in kept]
    assert (2, 0) == (checked.records, checked.rejected)
