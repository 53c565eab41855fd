"""OTLP JSON as read(): every form of it, and what is said about what it must not hold."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.model.records import Signal
from tests.collector.files.support import (
    T0,
    gauges,
    json_lines,
    log,
    logs,
    merged,
    otlp_json,
    point,
    read_bytes,
    requests,
    span,
    span_names,
    traces,
    zipped,
)


@pytest.mark.parametrize("signal", Signal)
@settings(max_examples=40)
@given(data=st.data())
def test_everything_comes_back(signal: Signal, data: st.DataObject) -> None:
    """Whatever the official encoder writes for a request is read back as that very request."""
    request = data.draw(requests(signal))
    document = otlp_json(request)
    batches, problems = read_bytes(json_lines(document))
    if has_any_record(signal, request):
        assert ([], request) == (problems, merged(batches, signal))
    else:
        assert ([], ["unreadable"]) == (batches, [problem.kind for problem in problems])


def has_any_record(signal: Signal, request: Any) -> bool:
    lists = {
        Signal.TRACES: lambda: [s.spans for r in request.resource_spans for s in r.scope_spans],
        Signal.LOGS: lambda: [s.log_records for r in request.resource_logs for s in r.scope_logs],
        Signal.METRICS: lambda: [
            getattr(m, m.WhichOneof("data")).data_points
            for r in request.resource_metrics
            for s in r.scope_metrics
            for m in s.metrics
            if m.WhichOneof("data")
        ],
    }
    return any(len(found) for found in lists[signal]())


@pytest.mark.parametrize("indent", [None, 0, 1, 4])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_layout_does_not_matter(indent: int | None, newline: bytes, mark: bytes) -> None:
    """Indented or not, Windows line ends, a byte order mark, one document or several: all the same."""
    texts = [json.dumps(traces(span(n)), indent=indent).encode() for n in (1, 2)]
    content = mark + newline.join(texts).replace(b"\n", newline).replace(b"\r\r", b"\r")
    batches, problems = read_bytes(content)
    assert [] == problems
    assert ["span 1", "span 2"] == span_names(batches)


def test_signals_may_be_mixed() -> None:
    """Each line says by its keys which signal it is; one object may hold all three."""
    both = traces(span(2)) | gauges(point()) | logs(log())
    batches, problems = read_bytes(json_lines(traces(span(1)), both))
    assert [] == problems
    assert [Signal.TRACES, Signal.TRACES, Signal.METRICS, Signal.LOGS] == [b.signal for b in batches]


def test_numbers_and_text_are_both_integers() -> None:
    """64-bit integers are decimal text or numbers; unknown keys and null are passed over."""
    odd = span(1, startTimeUnixNano=T0, endTimeUnixNano=str(T0 + 7), kind=3, sparkle=[1], events=None)
    batches, problems = read_bytes(json_lines(traces(odd) | {"novelty": {}}))
    found = merged(batches, Signal.TRACES).resource_spans[0].scope_spans[0].spans[0]
    assert [] == problems
    assert (T0, T0 + 7, 3) == (found.start_time_unix_nano, found.end_time_unix_nano, found.kind)


def test_special_numbers_are_text() -> None:
    """NaN and the infinities are written as text."""
    written = [point(asDouble=value) for value in ("NaN", "Infinity", "-Infinity")]
    for one in written:
        del one["asInt"]
    batches, problems = read_bytes(json_lines(gauges(*written)))
    points = merged(batches, Signal.METRICS).resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points
    assert [] == problems
    assert ["nan", "inf", "-inf"] == [str(p.as_double) for p in points]


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"traceId": "!!!"}, "traceId", "expected 32 hex characters, found '!!!'"),
        ({"traceId": "CgoKCgoKCgoKCgoKCgoKCg=="}, "traceId", "expected 32 hex characters"),
        ({"spanId": 7}, "spanId", "expected 16 hex characters, found 7"),
        ({"kind": "SPAN_KIND_SERVER"}, "kind", "expected an integer (enum names are not OTLP)"),
        ({"kind": True}, "kind", "expected an integer"),
        (
            {"startTimeUnixNano": "soon"},
            "startTimeUnixNano",
            "expected an unsigned 64-bit integer, found 'soon'",
        ),
        ({"startTimeUnixNano": -1}, "startTimeUnixNano", "expected an unsigned 64-bit integer, found -1"),
        ({"startTimeUnixNano": "1" * 30}, "startTimeUnixNano", "expected an unsigned 64-bit integer"),
        ({"flags": 1.5}, "flags", "expected an unsigned 32-bit integer, found 1.5"),
        ({"name": 5}, "name", "expected a string, found 5"),
        ({"name": "\ud800"}, "name", "expected valid Unicode"),
        ({"status": []}, "status", "expected an object"),
        ({"events": {}}, "events", "expected an array"),
        ({"events": [{}, {"name": 1}]}, "events[1].name", "expected a string, found 1"),
        (
            {"attributes": [{"key": "k", "value": {"doubleValue": "x"}}]},
            "attributes[0].value.doubleValue",
            "number",
        ),
        (
            {"attributes": [{"value": {"bytesValue": "~"}}]},
            "attributes[0].value.bytesValue",
            "expected base64",
        ),
        ({"attributes": [{"value": {"boolValue": 1}}]}, "attributes[0].value.boolValue", "true or false"),
        (
            {"attributes": [{"value": {"boolValue": True, "intValue": 1}}]},
            "attributes[0].value",
            "expected only one kind of value",
        ),
    ],
)
def test_an_unfit_field_costs_its_span_only(fields: dict[str, Any], field: str, reason: str) -> None:
    """The problem names line, field and what was expected; the spans around it are read."""
    content = json_lines(traces(span(1)), traces(span(2), span(3, **fields), span(4)))
    batches, problems = read_bytes(content, "t.jsonl")
    assert ["span 1", "span 2", "span 4"] == span_names(batches)
    (problem,) = problems
    assert problem.source.endswith("t.jsonl")
    assert ("malformed", 2) == (problem.kind, problem.line)
    assert f"resourceSpans[0].scopeSpans[0].spans[1].{field}" == problem.field
    assert reason in problem.reason


def test_a_field_of_a_pretty_document_has_its_own_line() -> None:
    """In an indented document the line is that of the unfit value, not of the document."""
    text = json.dumps(traces(span(1, kind="A"), span(2), span(3, kind="A")), indent=1)
    batches, problems = read_bytes(text.encode())
    expected = [n for n, line in enumerate(text.splitlines(), 1) if '"kind"' in line]
    assert expected == [problem.line for problem in problems]
    assert ["span 2"] == span_names(batches)


def test_an_unfit_point_names_its_whole_path() -> None:
    """A data point that cannot be read is named through metric and kind; its metric stays."""
    _, problems = read_bytes(json_lines(gauges(point(), point(asInt="many"))))
    assert ["resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[1].asInt"] == [
        problem.field for problem in problems
    ]


@pytest.mark.parametrize("depth", [10, 30, 31, 5_000, 200_000])
def test_nesting_is_bounded(depth: int) -> None:
    """Values nested too deeply for protobuf are refused by name; their neighbours are read."""
    value = '{"kvlistValue":{"values":[{"key":"k","value":' * depth + "{}" + "}]}}" * depth
    deep = json.dumps(traces(span(1, attributes=["HERE"]), span(2)))
    content = deep.replace('"HERE"', f'{{"key":"k","value":{value}}}') + "\n" + json.dumps(traces(span(3)))
    batches, problems = read_bytes(content.encode())
    assert "span 3" in span_names(batches)
    assert ("span 1" in span_names(batches)) == (depth <= 30)
    assert (0 if depth <= 30 else 1) == len(problems)


@pytest.mark.parametrize(
    "broken",
    [b"{", b"}", b'{"resourceSpans":[{"scopeSpans":[{"sp', b"nonsense", b"\xff\xfe", b'{"resourceSpans":', b"[1]", b"7",
     b'{"other":1}', b'"text"', b"null", b'{"resourceSpans":{}}', b'{"resourceSpans":[3]}'],
)  # fmt: skip
def test_a_broken_line_costs_itself_only(broken: bytes) -> None:
    """Whatever stands on a line, the lines before and after it are read and the line is named."""
    content = json_lines(traces(span(1))) + broken + b"\n" + json_lines(traces(span(2)), traces(span(3)))
    batches, problems = read_bytes(content)
    assert ["span 1", "span 2", "span 3"] == span_names(batches)
    assert [("malformed", 2)] == [(problem.kind, problem.line) for problem in problems]


def test_the_last_line_may_be_cut() -> None:
    """A file that ends inside a line gives everything before it and one problem."""
    content = json_lines(*(traces(span(n)) for n in (1, 2, 3)))
    batches, problems = read_bytes(content[:-40])
    assert ["span 1", "span 2"] == span_names(batches)
    assert [3] == [problem.line for problem in problems]


def test_many_problems_are_counted_not_listed() -> None:
    """A thousand broken lines give a bounded number of problems that add up to a thousand."""
    content = json_lines(traces(span(1))) + b'{"resourceSpans":7}\n' * 1000
    batches, problems = read_bytes(content)
    assert ["span 1"] == span_names(batches)
    assert 21 == len(problems)
    assert 1000 == sum(problem.count for problem in problems)


def test_an_endless_line_costs_itself_only() -> None:
    """A line of more than 64 MiB is passed over in bounded memory and named; the next one is read."""
    content = json_lines(traces(span(1))) + b"[" * (65 << 20) + b"\n" + json_lines(traces(span(2)))
    batches, problems = read_bytes(zipped(content))
    assert ["span 1", "span 2"] == span_names(batches)
    assert [(2, "document is longer than 64 MiB")] == [(p.line, p.reason) for p in problems]


def test_large_requests_are_split() -> None:
    """A request above 4 MiB becomes several, none above 4 MiB, nothing lost and in order."""
    spans = [span(n, attributes=[{"key": "k", "value": {"stringValue": "x" * 2000}}]) for n in range(1, 5001)]
    batches, problems = read_bytes(json_lines(traces(*spans)))
    assert [] == problems
    assert len(batches) > 1
    assert max(len(batch.payload) for batch in batches) <= 4 << 20
    assert [one["name"] for one in spans] == span_names(batches)
