"""OTLP requests of GenAI spans, made fast enough to fill a store with millions.

Traces have the shape of the recordings: `POST /v1/answer` calls `chat tiny-llama`, which is `llm_request`
in the engine. Spans are about 470 bytes with 11 attributes and one event; what is common to many is
serialized once and only ids and times are written for each.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

START_NANO = 1_796_000_000 * 10**9
TRACE_EVERY_NANO = 10_000_000
SPANS_PER_TRACE = 3
VARIANTS = 256
"""How many different sets of attribute values a role has."""

Plain = str | int | float | list[str]


@dataclass(frozen=True)
class Role:
    """One span of each trace: who emits it, when within the trace, and its serialized variants."""

    service: str
    begins: float
    lasts: float
    variants: list[bytes]


def genai_trace_requests(
    spans: int,
    per_request: int = 1000,
    seed: int = 0,
    slower_after: float = math.inf,
    start_ns: int = START_NANO,
    trace_every_ns: int = TRACE_EVERY_NANO,
) -> Iterator[bytes]:
    """`ExportTraceServiceRequest`s of `per_request` spans each; the same bytes for the same arguments.

    After `slower_after` spans everything takes twice as long.
    """
    chance = random.Random(seed)
    starts = count(start_ns, trace_every_ns)
    made = _spans(chance, _roles(chance), starts, slower_after)
    for start in range(0, spans, per_request):
        by_service: dict[str, list[bytes]] = {}
        for service, span in islice(made, min(per_request, spans - start)):
            by_service.setdefault(service, []).append(span)
        yield b"".join(_framed(0x0A, _resource(name) + _scope(parts)) for name, parts in by_service.items())


def _spans(
    chance: random.Random, roles: list[Role], starts: Iterator[int], slower_after: float
) -> Iterator[tuple[str, bytes]]:
    """(service, framed span) for ever, trace after trace."""
    for number, begin in enumerate(starts):
        trace_id, parent, slowness = chance.randbytes(16), b"", chance.lognormvariate(0, 0.3)
        slowness *= 2 if number * len(roles) >= slower_after else 1
        for role in roles:
            span_id = chance.randbytes(8)
            start = begin + int(role.begins * slowness * 1e9)
            times = struct.pack("<BQBQ", 0x39, start, 0x41, start + int(role.lasts * slowness * 1e9))
            ids = b"\x0a\x10" + trace_id + b"\x12\x08" + span_id + (b"\x22\x08" + parent if parent else b"")
            answer = b"chatcmpl-" + trace_id.hex().encode()[:24]
            body = ids + times + _attribute(b"gen_ai.response.id", answer) + chance.choice(role.variants)
            yield role.service, _framed(0x12, body)
            parent = span_id


def _roles(chance: random.Random) -> list[Role]:
    shapes = [
        ("rag-api", "POST /v1/answer", Span.SPAN_KIND_SERVER, 0.0, 0.27, _answer),
        ("rag-api", "chat tiny-llama", Span.SPAN_KIND_CLIENT, 0.003, 0.26, _chat),
        ("vllm", "llm_request", Span.SPAN_KIND_SERVER, 0.005, 0.24, _engine),
    ]
    return [
        Role(service, begins, lasts, [_tail(name, kind, values(chance)) for _ in range(VARIANTS)])
        for service, name, kind, begins, lasts, values in shapes
    ]


def _answer(chance: random.Random) -> dict[str, Plain]:
    return {
        "http.request.method": "POST",
        "http.route": "/v1/answer",
        "http.response.status_code": 200,
        "url.scheme": "https",
        "server.address": "rag-api.internal",
        "server.port": 8443,
        "client.address": f"10.0.{chance.randrange(256)}.{chance.randrange(256)}",
        "network.protocol.version": "1.1",
        "user_agent.original": "python-httpx/0.28.1",
        "tenant.id": f"tenant-{chance.randrange(20)}",
    }


def _chat(chance: random.Random) -> dict[str, Plain]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "tiny-llama",
        "server.address": "vllm.internal",
        "server.port": 8100,
        "gen_ai.request.temperature": 1.0,
        "gen_ai.response.finish_reasons": ["length"],
        "gen_ai.response.model": "tiny-llama",
        "gen_ai.usage.input_tokens": chance.randrange(50, 400),
        "gen_ai.usage.output_tokens": chance.randrange(4, 64),
    }


def _engine(chance: random.Random) -> dict[str, Plain]:
    return {
        "gen_ai.latency.time_to_first_token": chance.uniform(0.03, 0.09),
        "gen_ai.latency.e2e": chance.uniform(0.1, 0.3),
        "gen_ai.latency.time_in_queue": chance.expovariate(1000),
        "gen_ai.latency.time_in_model_prefill": chance.uniform(0.02, 0.05),
        "gen_ai.latency.time_in_model_decode": chance.uniform(0.1, 0.2),
        "gen_ai.usage.prompt_tokens": chance.randrange(50, 400),
        "gen_ai.usage.completion_tokens": chance.randrange(4, 64),
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.temperature": 1.0,
        "gen_ai.request.max_tokens": 64,
    }


def _tail(name: str, kind: Span.SpanKind.ValueType, values: Mapping[str, Plain]) -> bytes:
    """A span without ids and times; its event keeps no time of its own."""
    pairs = [KeyValue(key=key, value=_value(value)) for key, value in values.items()]
    return Span(name=name, kind=kind, attributes=pairs, events=[Span.Event(name="first_token")]).SerializeToString()


def _value(value: Plain) -> AnyValue:
    match value:
        case str():
            return AnyValue(string_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case _:
            return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=item) for item in value]))


def _resource(service: str) -> bytes:
    values = {"service.name": service, "host.name": "node-a", "service.version": "1.0.0"}
    pairs = [KeyValue(key=key, value=_value(value)) for key, value in values.items()]
    return ResourceSpans(resource=Resource(attributes=pairs)).SerializeToString()


def _scope(spans: list[bytes]) -> bytes:
    scope = ScopeSpans(scope=InstrumentationScope(name="benchmark", version="1")).SerializeToString()
    return _framed(0x12, scope + b"".join(spans))


def _attribute(key: bytes, text: bytes) -> bytes:
    return _framed(0x4A, _framed(0x0A, key) + _framed(0x12, _framed(0x0A, text)))


def _framed(tag: int, content: bytes) -> bytes:
    size, number = bytearray(), len(content)
    while number >> 7:
        size.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([tag, *size, number]) + content
