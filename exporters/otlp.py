"""Findings as OTLP, to any endpoint by HTTP or gRPC: log events, and a span with links to the example traces.

Beside one event `tollens.incident` there is one `tollens.finding` for each finding that the notice carries. The span
`tollens.diagnosis` is the diagnosis itself; all of an incident's are in one trace. Ids follow from incident and notice,
so a repetition is known by them. Encoded by the OpenTelemetry exporter's own encoders, delivered like all notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from correlator.model.notices import Attempt, HttpRequest, Notice, findings
from correlator.model.outbound import http_url
from correlator.model.retrying import Never
from exporters._contract import Exporter, ExporterSettings
from exporters._summary import NONE_OF_THESE, summary

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Link, SpanContext

SCHEMES = ("http", "https", "grpc", "grpcs")
METHODS = {
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
}
LINKS = 32
"""Example traces that a span links to."""
TEXT = 1_000
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_NO_TRACE = "0" * 32

Attributes = dict[str, str | int | float]


def _endpoint(text: str) -> str:
    http_url(text, SCHEMES)
    url = urlsplit(text)
    if url.scheme.startswith("grpc") and (url.port is None or url.path.strip("/") or url.query or url.fragment):
        raise ValueError("expected grpc://host:port: gRPC knows no usual port and no path")
    return text


class OtlpSettings(ExporterSettings):
    """`url` is the endpoint's base: http(s)://otelcol:4318, or grpc(s)://otelcol:4317.

    A secret is a bearer token, or stands in `header`.
    """

    url: Annotated[str, Field(max_length=2_000, repr=False), AfterValidator(_endpoint)]
    header: str = Field(default="Authorization", pattern=r"^[A-Za-z0-9-]{1,100}$")


def requests(notice: Notice, settings: OtlpSettings, attempt: Attempt) -> list[HttpRequest]:
    """The events, and the span once there is a diagnosis."""
    is_grpc = settings.url.startswith("grpc")
    headers = {} if is_grpc else {"Content-Type": "application/x-protobuf"}
    if attempt.secret:
        bearer = "Bearer " if settings.header.lower() == "authorization" else ""
        headers[settings.header] = bearer + attempt.secret
    bodies = {"logs": events(notice, summary(notice, settings, TEXT))}
    if notice.incident.diagnosis is not None:
        bodies["traces"] = span(notice)
    base = settings.url.rstrip("/")
    paths = METHODS if is_grpc else {signal: f"/v1/{signal}" for signal in bodies}
    return [HttpRequest(url=base + paths[signal], headers=headers, body=body) for signal, body in bodies.items()]


def answered(answer: bytes) -> str:
    """Nothing, or Never where a part was rejected: the same would be rejected again (OTLP, "Partial Success").

    A dead letter that somebody sends again is sent whole, with what was taken the first time.
    """
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

    try:  # that to traces has the same fields by other names
        told = ExportLogsServiceResponse.FromString(answer).partial_success
    except DecodeError:
        return ""
    if told.rejected_log_records > 0:
        raise Never(f"{told.rejected_log_records} records were rejected: {told.error_message[:200]}")
    return ""


def check(secret: str) -> None:
    """ValueError unless it can stand in a header; it may be missing."""
    if not secret.isascii() or any(not "!" <= sign <= "~" for sign in secret):
        raise ValueError("expected one line with a token, without blanks")


def events(notice: Notice, said: str) -> bytes:
    """An ExportLogsServiceRequest: the incident as `said`, then its findings by rank."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.sdk._logs import ReadableLogRecord

    where = _context(notice)

    def event(name: str, body: str, attributes: Attributes) -> ReadableLogRecord:
        record = LogRecord(
            timestamp=notice.at,
            observed_timestamp=notice.at,
            event_name=name,
            severity_number=SeverityNumber.WARN,
            body=_clean(body),
            attributes=_about(notice) | attributes,
        )
        record.trace_id, record.span_id, record.trace_flags = where.trace_id, where.span_id, where.trace_flags
        return ReadableLogRecord(record, _resource())

    told = [event("tollens.incident", said, {"tollens.incident.title": _clean(notice.incident.title)})]
    for rank, finding in enumerate(findings(notice), 1):
        told.append(event("tollens.finding", str(finding.get("claim") or ""), _found(finding) | {"tollens.rank": rank}))
    return bytes(encode_logs(told).SerializeToString())


def span(notice: Notice) -> bytes:
    """An ExportTraceServiceRequest with the diagnosis as a span."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    return bytes(encode_spans([_diagnosis(notice)]).SerializeToString())


def _diagnosis(notice: Notice) -> ReadableSpan:
    from opentelemetry.sdk.trace import ReadableSpan

    diagnosis: Mapping[str, Any] = notice.incident.diagnosis or {}
    end = notice.incident.diagnosed or notice.at
    elapsed_s = float(diagnosis.get("elapsed_s") or 0.0)
    attributes = _about(notice)
    for first in findings(notice)[:1]:
        attributes |= _found(first)
    return ReadableSpan(
        name="tollens.diagnosis",
        context=_context(notice),
        resource=_resource(),
        attributes=attributes,
        links=list(_links(notice)),
        start_time=end - int(elapsed_s * 1e9),
        end_time=end,
    )


def _links(notice: Notice) -> Iterator[Link]:
    """To the traces that predictions name. Only a trace's own id is known; OTLP allows links that name no span."""
    from opentelemetry.trace import Link, SpanContext

    seen: dict[str, Attributes] = {}
    for finding in findings(notice):
        for prediction in finding.get("predictions") or ():
            for trace_id in prediction.get("trace_ids") or ():
                told: Attributes = {"tollens.hypothesis": _clean(finding.get("hypothesis"))}
                seen.setdefault(str(trace_id), told | {"tollens.prediction": _clean(prediction.get("id"))})
    sound = [(id_, told) for id_, told in seen.items() if _TRACE_ID.fullmatch(id_) and id_ != _NO_TRACE]
    for trace_id, about in sound[:LINKS]:
        yield Link(SpanContext(int(trace_id, 16), 0, is_remote=True), about)


def _about(notice: Notice) -> Attributes:
    incident = notice.incident
    told: dict[str, str | None] = {
        "tollens.incident.id": incident.id,
        "tollens.incident.state": str(incident.state),
        "tollens.change": str(notice.change),
        "tollens.symptom.kind": None if incident.kind is None else str(incident.kind),
        "tollens.symptom.where": incident.where,
        "url.full": notice.link,
    }
    return {name: _clean(value) for name, value in told.items() if value}


def _found(finding: Mapping[str, Any]) -> Attributes:
    share = finding.get("share") or {}
    told = {
        "tollens.hypothesis": finding.get("hypothesis") or NONE_OF_THESE,
        "tollens.verdict": finding.get("verdict"),
        "tollens.role": finding.get("role"),
        "tollens.probability": finding.get("probability"),
        "tollens.share": share.get("value"),
    }
    return {
        name: _clean(value) if isinstance(value, str) else value for name, value in told.items() if value is not None
    }


def _clean(text: object) -> str:
    """Half a surrogate pair is no text for protobuf."""
    return str(text).encode(errors="replace").decode()


def _context(notice: Notice) -> SpanContext:
    """An incident is a trace, a notice a span in it."""
    from opentelemetry.trace import SpanContext, TraceFlags

    ids = [int.from_bytes(sha256(text.encode()).digest()[:size]) for text, size in _named(notice)]
    return SpanContext(ids[0], ids[1], is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _named(notice: Notice) -> tuple[tuple[str, int], tuple[str, int]]:
    return (f"tollens incident {notice.incident.id}", 16), (notice.id, 8)


def _resource() -> Resource:
    from opentelemetry.sdk.resources import Resource

    return Resource({"service.name": "tollens"})


EXPORTER = Exporter(id="otlp", settings=OtlpSettings, requests=requests, check=check, answered=answered)
