"""Findings as OTLP: events by rank, a span with links, the same ids every time; a real collector takes them."""

from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from correlator.model.notices import Attempt, Change, Notice
from correlator.model.records import Signal
from exporters.otlp import LINKS, OtlpSettings, requests
from tests.collector.collector_process import collector
from tests.collector.spooling import spooled
from tests.exporters.incidents import incident, told

SETTINGS = OtlpSettings(exporter="otlp", name="otlp", url="http://127.0.0.1:4318/", allow=("127.0.0.0/8",))
TRACES = [f"{number:032x}" for number in range(1, 41)]


def values(attributes: "list[KeyValue]") -> dict[str, object]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def sent(notice: Notice, secret: str = "", settings: OtlpSettings = SETTINGS) -> tuple[list[LogRecord], list[Span]]:
    """The records and spans of all requests."""
    found = {r.url: r.body for r in requests(notice, settings, Attempt(at=1, secret=secret))}
    logs = ExportLogsServiceRequest.FromString(found["http://127.0.0.1:4318/v1/logs"])
    traces = ExportTraceServiceRequest.FromString(found.get("http://127.0.0.1:4318/v1/traces", b""))
    return (
        [r for resource in logs.resource_logs for scope in resource.scope_logs for r in scope.log_records],
        [s for resource in traces.resource_spans for scope in resource.scope_spans for s in scope.spans],
    )


def finding(hypothesis: str, *trace_ids: str) -> dict[str, object]:
    prediction = {"id": "p", "trace_ids": list(trace_ids)}
    share = {"value": 0.6, "low": 0.5, "high": 0.7}
    known = {"claim": f"{hypothesis} did it", "verdict": "supported", "role": "root", "probability": 0.8}
    return known | {"hypothesis": hypothesis, "share": share, "predictions": [prediction]}


def diagnosed(*findings: dict[str, object]) -> Notice:
    return told(of=incident(diagnosis={"findings": [*findings], "elapsed_s": 0.5}))


def test_a_finding_is_an_event() -> None:
    """The incident first, then each finding with its rank, verdict, probability, role and share."""
    records, _ = sent(diagnosed(finding("a"), finding("b")))
    assert ["tollens.incident", "tollens.finding", "tollens.finding"] == [r.event_name for r in records]
    assert ["a did it", "b did it"] == [r.body.string_value for r in records[1:]]
    assert {
        "tollens.incident.id": "1f0c",
        "tollens.incident.state": "open",
        "tollens.change": "opened",
        "tollens.symptom.kind": "latency",
        "tollens.symptom.where": "rag-api",
        "url.full": "https://t.example/api/v1/incidents/1f0c",
        "tollens.hypothesis": "b",
        "tollens.verdict": "supported",
        "tollens.role": "root",
        "tollens.probability": 0.8,
        "tollens.share": 0.6,
        "tollens.rank": 2,
    } == values(records[2].attributes)


def test_a_diagnosis_is_a_span_with_its_events() -> None:
    """It lasts as long as the diagnosis took, and the events are in it."""
    records, (span,) = sent(diagnosed(finding("a", TRACES[0])))
    assert "tollens.diagnosis" == span.name
    assert 500_000_000 == span.end_time_unix_nano - span.start_time_unix_nano
    assert {(span.trace_id, span.span_id)} == {(r.trace_id, r.span_id) for r in records}
    assert "a" == values(span.attributes)["tollens.hypothesis"]


def test_a_span_links_to_the_example_traces() -> None:
    """Each once, with the first hypothesis that names it, at most so many; what is no trace id is left out."""
    _, (span,) = sent(diagnosed(finding("a", TRACES[0], "no-id", "0" * 32), finding("b", *TRACES)))
    links = [(link.trace_id.hex(), values(link.attributes)["tollens.hypothesis"]) for link in span.links]
    # A notice carries five trace ids of a prediction.
    assert [(TRACES[0], "a"), *((trace, "b") for trace in TRACES[1:5])] == links
    _, (many,) = sent(diagnosed(*(finding(f"h{k}", *TRACES[4 * k : 4 * k + 4]) for k in range(10))))
    assert LINKS == len(many.links)


def test_before_a_diagnosis_there_is_the_incident_alone() -> None:
    """One event, and no span."""
    records, spans = sent(told(of=incident(diagnosis=None)))
    assert (["tollens.incident"], []) == ([r.event_name for r in records], spans)
    assert "Not diagnosed yet" in records[0].body.string_value


def test_an_incident_is_one_trace() -> None:
    """Notices of one incident share the trace and have spans of their own; another incident has another trace."""
    ids = [
        (span.trace_id, span.span_id)
        for notice in (told(), told(), told(Change.UPDATED), told(of=incident("other")))
        for span in sent(notice)[1]
    ]
    assert ids[0] == ids[1]
    assert ids[0][0] == ids[2][0] and ids[0][1] != ids[2][1]
    assert ids[0][0] != ids[3][0]


@pytest.mark.parametrize(
    ("header", "expected"), [("Authorization", "Bearer abc"), ("x-api-key", "abc")], ids=["bearer", "own header"]
)
def test_the_secret_is_in_a_header(header: str, expected: str) -> None:
    """As bearer token, or as it is in a header of another name; nowhere else."""
    settings = SETTINGS.model_copy(update={"header": header})
    found = requests(told(), settings, Attempt(at=1, secret="abc"))
    assert [expected] * 2 == [request.headers[header] for request in found]
    assert all(b"abc" not in request.body for request in requests(told(of=incident("1")), settings, Attempt(at=1)))


def test_a_real_collector_takes_it(tmp_path: Path) -> None:
    """Both requests are acknowledged whole by an OTLP receiver, and kept."""
    with collector(tmp_path) as running:
        settings = SETTINGS.model_copy(update={"url": running.http})
        answers = [
            running.client.post(r.url, content=r.body, headers=dict(r.headers))
            for r in requests(told(), settings, Attempt(at=1))
        ]
        assert [(200, b""), (200, b"")] == [(answer.status_code, answer.content) for answer in answers]
        assert 0 == running.stop()
    assert {Signal.LOGS, Signal.TRACES} <= {signal for signal, _ in spooled(tmp_path / "spool")}
