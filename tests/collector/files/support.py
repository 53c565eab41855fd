"""Builders for reader tests: small OTLP documents, generated requests, and reading of bytes."""

import base64
import gzip
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.files import Options, read
from correlator.model.records import Batch, Problem, Signal

T0 = 1_796_000_000_000_000_000
REQUESTS: dict[Signal, type[Message]] = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}


def read_bytes(
    content: bytes,
    name: str = "input",
    options: Options = Options(),  # noqa: B008 (frozen)
) -> tuple[list[Batch], list[Problem]]:
    """What is read from a file of this content; problems name the file without its folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return parted(read([str(path)], options))


def parted(items: Iterable[Batch | Problem]) -> tuple[list[Batch], list[Problem]]:
    batches: list[Batch] = []
    problems: list[Problem] = []
    for item in items:
        (batches if isinstance(item, Batch) else problems).append(item)  # type: ignore[arg-type]
    return batches, problems


def merged(batches: Iterable[Batch], signal: Signal) -> Any:
    """The batches of a signal as one request."""
    payload = b"".join(batch.payload for batch in batches if batch.signal is signal)
    return REQUESTS[signal].FromString(payload)


def span(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A span in OTLP JSON; times and ids are sound unless given."""
    return {
        "traceId": "0a" * 16,
        "spanId": f"{number:016x}",
        "name": f"span {number}",
        "startTimeUnixNano": str(T0),
        "endTimeUnixNano": str(T0 + 5),
        **fields,
    }


def point(**fields: Any) -> dict[str, Any]:
    return {"timeUnixNano": str(T0), "asInt": "1", **fields}


def log(**fields: Any) -> dict[str, Any]:
    return {"timeUnixNano": str(T0), "body": {"stringValue": "ready"}, **fields}


def traces(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def gauges(*points: dict[str, Any]) -> dict[str, Any]:
    metric = {"name": "depth", "gauge": {"dataPoints": list(points)}}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def json_lines(*documents: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def span_names(batches: Iterable[Batch]) -> list[str]:
    request = merged(batches, Signal.TRACES)
    return [s.name for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]


def zipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


_TIMES = st.integers(T0 - 10**17, T0)
_BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "time_unix_nano": _TIMES,
    "start_time_unix_nano": _TIMES,
    "end_time_unix_nano": st.integers(T0, T0 + 10**18),
    "observed_time_unix_nano": _TIMES,
    "trace_id": st.binary(min_size=16, max_size=16).filter(any),
    "span_id": st.binary(min_size=8, max_size=8).filter(any),
    "parent_span_id": st.one_of(st.just(b""), st.binary(min_size=8, max_size=8)),
}
_ALWAYS = {
    "Span": ("trace_id", "span_id", "start_time_unix_nano", "end_time_unix_nano"),
    "LogRecord": ("time_unix_nano",),
    "NumberDataPoint": ("time_unix_nano",),
    "HistogramDataPoint": ("time_unix_nano",),
    "ExponentialHistogramDataPoint": ("time_unix_nano",),
    "SummaryDataPoint": ("time_unix_nano",),
}
_BY_TYPE: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_SFIXED64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_FIXED64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_SINT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_FIXED32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_ENUM: st.integers(0, 2),
    FieldDescriptor.TYPE_STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=8),
}


@st.composite
def _values(draw: st.DrawFn, descriptor: Descriptor, depth: int) -> dict[str, Any]:
    """Keyword arguments of a message: any of its fields, at most one of a oneof."""
    fields = list(descriptor.fields)
    needed = _ALWAYS.get(descriptor.name, ())
    chosen = {f.name: f for f in fields if f.name in needed or draw(st.booleans())}
    for oneof in descriptor.oneofs:
        names = [f.name for f in oneof.fields if f.name in chosen]
        for name in names[1:]:
            del chosen[name]
    out = {}
    for name, field in chosen.items():
        if field.message_type is not None and depth == 0:
            continue
        if field.message_type is not None:
            one = _values(field.message_type, depth - 1)
        else:
            one = _BY_NAME[name] if name in _BY_NAME else _BY_TYPE[field.type]
        out[name] = draw(st.lists(one, max_size=2) if field.is_repeated else one)
    return out


@st.composite
def requests(draw: st.DrawFn, signal: Signal) -> Any:
    """A request of the signal with any fields set, every span id its own, and a first resource with a name."""
    cls = REQUESTS[signal]
    request: Any = cls(**draw(_values(cls.DESCRIPTOR, 7)))
    head: Any = cls()
    (listed,) = cls.DESCRIPTOR.fields
    getattr(head, listed.name).add().resource.attributes.add(key="service.name").value.string_value = "rag"
    head.MergeFrom(request)
    if signal is Signal.TRACES:
        every = [s for r in head.resource_spans for scope in r.scope_spans for s in scope.spans]
        for number, one in enumerate(every, 1):
            one.span_id = number.to_bytes(8, "big")
    return head


def otlp_json(request: Message) -> dict[str, Any]:
    """The request as OTLP JSON, by the official encoder: only ids differ from protobuf JSON."""
    return _with_hex_ids(MessageToDict(request, use_integers_for_enums=True))


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {k: base64.b64decode(v).hex() if k in ids else _with_hex_ids(v) for k, v in value.items()}
