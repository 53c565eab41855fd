"""Jaeger's JSON: what its API and UI export (`{"data": […]}`, one trace), and spans one by one as Elasticsearch
keeps them. Times are microseconds and stay as recorded, clock skew included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.attributes import Value, clean, set_attributes
from collector.files._contract import Options, Reader, Source
from collector.files._documents import each
from collector.files._spans import KINDS, Spans
from correlator.model.records import Batch, Problem

_MICRO = 1_000
_SPAN = re.compile(rb'"traceID"\s*:')
_ITS_OWN = re.compile(rb'"(?:spanID|processID|operationName)"\s*:')
_FAULTS = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
_RENAMED = {"hostname": "host.name", "jaeger.version": "telemetry.sdk.version"}


def accepts(source: Source) -> float:
    """By `traceID` beside a span's own keys, in JSON."""
    if source.head.lstrip()[:1] not in (b"{", b"["):
        return 0.0
    return 1.0 if _SPAN.search(source.head) and _ITS_OWN.search(source.head) else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Every span of every trace; one that cannot be read is named by its place and left out."""
    spans = Spans(source.name, "tollens.jaeger_json")

    def take(line: int, value: Any) -> Iterator[Batch | Problem]:
        for place, written, process in _written(value):
            try:
                spans.add(_resource(process), _span(written), line)
            except _FAULTS as error:
                yield Problem(source.name, f"expected a Jaeger span ({error!r:.120})", line=line, field=place)
            if spans.full:
                yield from spans.batches()

    yield from each(source, take)
    yield from spans.batches()
    yield from spans.problems()


def _written(value: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(place, span, its process) of everything in a document, however it is wrapped."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _written(inner, f"{place}[{index}]")
    elif isinstance(value, dict) and isinstance(value.get("spans"), list):
        processes = value.get("processes")
        for index, span in enumerate(value["spans"]):
            yield f"{place}.spans[{index}]".lstrip("."), span, _process(span, processes)
    elif isinstance(value, dict) and "data" in value:
        yield from _written(value["data"], "data")
    elif isinstance(value, dict) and isinstance(value.get("_source"), dict):
        yield from _written(value["_source"], f"{place}._source")
    else:
        yield place or "span", value, _process(value, None)


def _process(span: Any, processes: Any) -> Any:
    if not isinstance(span, dict):
        return None
    own = span.get("process")
    return own if own else processes.get(span.get("processID")) if isinstance(processes, dict) else None


def _resource(process: Any) -> dict[str, Value]:
    if not isinstance(process, dict):
        raise ValueError("its process is not in the file")
    tags = {_RENAMED.get(key, key): value for key, value in _tags(process).items()}
    return {"service.name": str(process["serviceName"]), **tags}


def _span(written: Mapping[str, Any]) -> Span:
    start = int(written["startTime"]) * _MICRO
    tags = _tags(written)
    span = Span(
        trace_id=_id(written["traceID"], 16),
        span_id=_id(written["spanID"], 8),
        name=clean(str(written["operationName"])),
        kind=KINDS.get(str(tags.pop("span.kind", "")).lower(), Span.SPAN_KIND_INTERNAL),
        start_time_unix_nano=start,
        end_time_unix_nano=start + int(written["duration"]) * _MICRO,
    )
    _refer(span, written)
    _status(span, tags)
    for log in written.get("logs") or ():
        fields = _tags(log, "fields")
        name = fields.pop("event", None) or fields.get("message", "log")
        event = span.events.add(time_unix_nano=int(log["timestamp"]) * _MICRO, name=clean(str(name)[:200]))
        set_attributes(event, fields)
    set_attributes(span, tags)
    return span


def _refer(span: Span, written: Mapping[str, Any]) -> None:
    """The parent is the first reference into the same trace, a child's before one that follows; others are links."""
    references = [(ref["refType"], _id(ref["traceID"], 16), _id(ref["spanID"], 8)) for ref in _references(written)]
    own = sorted((ref for ref in references if ref[1] == span.trace_id), key=lambda ref: ref[0] != "CHILD_OF")
    parent = own[0] if own else None
    if parent:
        span.parent_span_id = parent[2]
    elif written.get("parentSpanID"):
        span.parent_span_id = _id(written["parentSpanID"], 8)
    for ref in references:
        if ref != parent:
            link = span.links.add(trace_id=ref[1], span_id=ref[2])
            set_attributes(link, {"opentracing.ref_type": str(ref[0]).lower()})


def _references(written: Mapping[str, Any]) -> list[Any]:
    return [ref for ref in written.get("references") or () if ref.get("traceID") and ref.get("spanID")]


def _status(span: Span, tags: dict[str, Value]) -> None:
    code = str(tags.pop("otel.status_code", "")).upper()
    if code == "ERROR" or str(tags.get("error", "")).lower() == "true":
        span.status.code = Status.STATUS_CODE_ERROR
        span.status.message = clean(str(tags.pop("otel.status_description", "")))
    elif code == "OK":
        span.status.code = Status.STATUS_CODE_OK


def _tags(owner: Mapping[str, Any], key: str = "tags") -> dict[str, Value]:
    """Tags as a list of key and value, or, in Elasticsearch, as a map `tag` whose keys have `@` for dots."""
    listed = {str(tag["key"]): _scalar(tag.get("value"), tag.get("type")) for tag in owner.get(key) or ()}
    mapped = owner.get("tag") if key == "tags" else None
    return listed | {str(name).replace("@", "."): _scalar(value, None) for name, value in (mapped or {}).items()}


def _scalar(value: Any, kind: Any) -> Value:
    if kind == "int64" and isinstance(value, str):
        return int(value)
    return value if isinstance(value, str | bool | int | float) else str(value)


def _id(text: Any, size: int) -> bytes:
    return bytes.fromhex(str(text).rjust(2 * size, "0"))


READER = Reader(id="jaeger_json", accepts=accepts, read=read)
