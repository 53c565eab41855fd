"""Recordings as if they had just been made: every time in OTLP requests moved by the same amount."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from correlator.model.records import Batch, Signal

REQUESTS: dict[Signal, type[Message]] = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}


def moved(batches: Iterable[Batch], by: int) -> Iterator[Batch]:
    """The same, `by` nanoseconds later; one request a signal, for what is repeated in them adds up."""
    together: dict[Signal, bytes] = {}
    for batch in batches:
        together[batch.signal] = together.get(batch.signal, b"") + batch.payload
    for signal, payload in together.items():
        request = REQUESTS[signal].FromString(payload)
        _move(request, by)
        yield Batch(signal, request.SerializeToString())


def sent(batches: Iterable[Batch], address: str) -> set[int]:
    """Sent by OTLP/HTTP; the status codes of the answers."""
    headers = {"Content-Type": "application/x-protobuf"}
    with httpx.Client(base_url=f"http://{address}", headers=headers, timeout=120) as client:
        return {client.post(f"/v1/{batch.signal}", content=batch.payload).status_code for batch in batches}


def loaded(spool: Path) -> bool:
    """Whether the correlator has taken all that was acknowledged."""
    return not any(spool.glob("*-*.*"))


def _move(message: Message, by: int) -> None:
    for field, value in message.ListFields():
        if field.name.endswith("time_unix_nano"):
            setattr(message, field.name, value + by)
        elif field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                _move(inner, by)
