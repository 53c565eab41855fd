"""Rewrites OTLP requests so that no attribute value is nested: lists and trees become JSON text.

Only for requests that need it. The messages are the official ones with every text field read as
bytes, so that a name that is not UTF-8 costs nothing here either.
"""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from correlator.model.records import Signal

_ANY_VALUE = "opentelemetry.proto.common.v1.AnyValue"


def is_request(signal: Signal, payload: bytes) -> bool:
    """Whether `payload` decodes as an export request of `signal`, whatever its text holds."""
    try:
        _CLASSES[signal].FromString(payload)
    except DecodeError:
        return False
    return True


def flattened(signal: Signal, payload: bytes) -> bytes:
    """The same request with nested values as JSON text. ValueError when it is no such request."""
    if not is_request(signal, payload):
        raise ValueError("the bytes do not decode")
    request = _CLASSES[signal].FromString(payload)
    _flatten(request)
    return request.SerializeToString()


def _flatten(message: Message) -> None:
    if message.DESCRIPTOR.full_name == _ANY_VALUE:
        _flatten_value(message)
        return
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for child in value if field.is_repeated else (value,):
                _flatten(child)


def _flatten_value(value: Any) -> None:
    if value.WhichOneof("value") in {"array_value", "kvlist_value"}:
        value.string_value = _json(value).encode()


def _json(value: Any) -> str:
    """An AnyValue as JSON: trees in the order of their keys, bytes in base64, unset as null."""
    match value.WhichOneof("value"):
        case "kvlist_value":
            pairs = sorted((_quoted(pair.key), _json(pair.value)) for pair in value.kvlist_value.values)
            return "{" + ",".join(f"{key}:{item}" for key, item in pairs) + "}"
        case "array_value":
            return "[" + ",".join(map(_json, value.array_value.values)) + "]"
        case "string_value":
            return _quoted(value.string_value)
        case "bytes_value":
            return f'"{base64.b64encode(value.bytes_value).decode()}"'
        case "double_value":
            return _real(value.double_value)
        case "bool_value":
            return "true" if value.bool_value else "false"
        case "int_value":
            return str(value.int_value)
        case _:
            return "null"


def _quoted(text: bytes) -> str:
    return json.dumps(text.decode(errors="replace"), ensure_ascii=False)


def _real(number: float) -> str:
    """The shortest JSON of a number, with an exponent only below 1e-6 and from 1e21 on."""
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else f'"{"+" if number > 0 else "-"}Inf"'
    if number == 0 or 1e-6 <= abs(number) < 1e21:
        return format(Decimal(repr(number)), "f").removesuffix(".0")
    return repr(number).replace("e-0", "e-")


def _lenient_classes() -> dict[Signal, type[Message]]:
    """The official request classes, with text fields turned into bytes."""
    services = {
        Signal.TRACES: (trace_service_pb2, "trace.v1.ExportTraceServiceRequest"),
        Signal.METRICS: (metrics_service_pb2, "metrics.v1.ExportMetricsServiceRequest"),
        Signal.LOGS: (logs_service_pb2, "logs.v1.ExportLogsServiceRequest"),
    }
    pool = DescriptorPool()
    for module, _ in services.values():
        _add_file(pool, module.DESCRIPTOR)
    return {
        signal: GetMessageClass(pool.FindMessageTypeByName(f"opentelemetry.proto.collector.{name}"))
        for signal, (_, name) in services.items()
    }


def _add_file(pool: DescriptorPool, file: FileDescriptor) -> None:
    for dependency in file.dependencies:
        _add_file(pool, dependency)
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    for message in proto.message_type:
        _text_as_bytes(message)
    pool.Add(proto)


def _text_as_bytes(message: DescriptorProto) -> None:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_STRING:
            field.type = FieldDescriptorProto.TYPE_BYTES
    for nested in message.nested_type:
        _text_as_bytes(nested)


_CLASSES = _lenient_classes()
