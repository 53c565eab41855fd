"""Spans of one file, gathered by their resources into trace requests of bounded size."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.attributes import Value, set_attributes
from collector.files._emit import MAX_RECORDS
from collector.files._otlp import Screen, batches
from correlator.model.records import Batch, Problem, Signal

Resource = tuple[tuple[str, Value], ...]
KINDS: dict[str, Span.SpanKind.ValueType] = {
    "internal": Span.SPAN_KIND_INTERNAL,
    "server": Span.SPAN_KIND_SERVER,
    "client": Span.SPAN_KIND_CLIENT,
    "producer": Span.SPAN_KIND_PRODUCER,
    "consumer": Span.SPAN_KIND_CONSUMER,
}


@dataclass(slots=True)
class Spans:
    """Ask `batches()` whenever `full` and once more at the end, then `problems()`."""

    source: str
    scope: str
    _gathered: dict[Resource, list[Span]] = field(default_factory=dict, init=False)
    _count: int = field(default=0, init=False)
    _screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        self._screen = Screen(self.source)

    @property
    def full(self) -> bool:
        return self._count >= MAX_RECORDS

    def add(self, resource: Mapping[str, Value], span: Span, line: int | None = None) -> None:
        """One span; without a believable time or id it is left out and counted at `line`."""
        if self._screen.passes(Signal.TRACES, span, line):
            self._gathered.setdefault(tuple(resource.items()), []).append(span)
            self._count += 1

    def batches(self) -> Iterator[Batch]:
        """Everything gathered since the last call."""
        request = ExportTraceServiceRequest()
        for resource, spans in self._gathered.items():
            of_resource = request.resource_spans.add()
            set_attributes(of_resource.resource, dict(resource))
            scope = of_resource.scope_spans.add()
            scope.scope.name = self.scope
            scope.spans.extend(spans)
        self._gathered.clear()
        self._count = 0
        yield from batches(Signal.TRACES, request)

    def problems(self) -> Iterator[Problem]:
        """What was left out, one problem a reason."""
        yield from self._screen.problems()


def lone_span(
    identity: str, name: str, start_unix_nano: int, end_unix_nano: int, attributes: Mapping[str, Value]
) -> Span:
    """A served request that a log tells of, as a trace of one span. The same `identity` gives the same ids."""
    digest = hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=24).digest()
    span = Span(
        trace_id=digest[:16],
        span_id=digest[16:],
        name=name,
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=max(start_unix_nano, 0),
        end_time_unix_nano=max(end_unix_nano, 0),
    )
    set_attributes(span, attributes)
    return span


def fail(span: Span, message: str = "") -> None:
    """Mark a span as failed."""
    span.status.code = Status.STATUS_CODE_ERROR
    span.status.message = message
