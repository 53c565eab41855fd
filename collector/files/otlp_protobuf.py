"""OTLP protobuf, bare or behind lengths. All requests share their outer shape: records tell the signal."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from collector.files._contract import Options, Reader, Source
from collector.files._frames import framing
from collector.files._log_events import name_events
from collector.files._otlp import SHAPES, Screen, batches
from correlator.model.records import Batch, Problem, Signal

_SAMPLE = 20  # records looked at to tell the signal


def accepts(source: Source) -> float:
    """By the nesting of messages at the start."""
    return 0.9 if framing(source.head) else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Every request of the stream; one that cannot be decoded is named by its number and left out."""
    screen, cut = Screen(source.name), framing(source.head)
    assert cut is not None, "read() is for sources that accepts() has taken"
    number = 0
    with source.open() as stream:
        try:
            for number, payload in enumerate(cut(stream), 1):
                yield from _request(payload, number, screen)
        except (EOFError, ValueError) as error:
            kind = "truncated" if isinstance(error, EOFError) else "malformed"
            yield Problem(source.name, str(error), kind, field=f"request {number + 1}")
    yield from screen.problems()


def _request(payload: bytes, number: int, screen: Screen) -> Iterator[Batch | Problem]:
    decoded = [(_score(signal, request), signal, request) for signal, request in _decodings(payload)]
    score, signal, request = max(decoded, key=lambda item: item[0], default=(-1, Signal.TRACES, None))
    if request is None or score < 0:
        reason = "expected an OTLP trace, metrics or logs request"
        yield Problem(screen.source, reason, field=f"request {number}")
        return
    screen.clean(signal, request)
    if signal is Signal.LOGS:
        name_events(request)
    yield from batches(signal, request)


def _decodings(payload: bytes) -> Iterator[tuple[Signal, Message]]:
    for signal, shape in SHAPES.items():
        try:
            yield signal, shape.request.FromString(payload)
        except DecodeError:
            continue


def _score(signal: Signal, request: Message) -> int:
    """How many of the first records look right, less the fields that this signal does not know."""
    shape = SHAPES[signal]
    resources = list(getattr(request, shape.resources))[:_SAMPLE]
    scopes = [scope for resource in resources for scope in getattr(resource, shape.scopes)][:_SAMPLE]
    records = list(islice((r for scope in scopes for r in getattr(scope, shape.records)), _SAMPLE))
    unknown = sum(len(UnknownFieldSet(m)) for m in (request, *resources, *scopes, *records))
    return sum(_looks_right(signal, record) for record in records) - unknown


def _looks_right(signal: Signal, record: Any) -> bool:
    if signal is Signal.TRACES:
        return len(record.trace_id) == 16 and len(record.span_id) == 8
    if signal is Signal.METRICS:
        return bool(record.name) and record.WhichOneof("data") is not None
    return bool(record.time_unix_nano or record.observed_time_unix_nano) or record.HasField("body")


READER = Reader(id="otlp_protobuf", accepts=accepts, read=read)
