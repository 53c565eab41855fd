"""OTLP records as columns, decoded in C: no object for a single span, data point or log record.

Protobuf merges a message that is met twice into one, and joins its repeated fields. So in classes made from
OTLP's own descriptors, where lists of messages are single messages and the wanted fields of a record are
repeated, decoding a request validates all of it and leaves the columns, in a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from collector.files._otlp import SHAPES
from correlator.model.records import Signal

KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_POINT = frozenset({"time_unix_nano"})
_COLUMNS = {
    "Span": frozenset({"trace_id", "span_id", "start_time_unix_nano", "end_time_unix_nano"}),
    "LogRecord": frozenset({"time_unix_nano", "observed_time_unix_nano"}),
    "NumberDataPoint": _POINT,
    "HistogramDataPoint": _POINT,
    "ExponentialHistogramDataPoint": _POINT,
    "SummaryDataPoint": _POINT,
}


def columns(signal: Signal, payload: bytes) -> list[tuple[int, Any]]:
    """(number of records, their columns) for each kind of record.

    Raises DecodeError where OTLP's class would, and where a time has a wire type that is none of a time.
    """
    counted = _records(signal, _class(signal, _count).FromString(payload))
    merged = _records(signal, _class(signal, _merge).FromString(payload))
    return [(len(records), fields) for records, fields in zip(counted, merged, strict=True)]


def _records(signal: Signal, request: Any) -> Iterator[Any]:
    shape = SHAPES[signal]
    records = getattr(getattr(getattr(request, shape.resources), shape.scopes), shape.records)
    if signal is not Signal.METRICS:
        return iter((records,))
    return (getattr(records, kind).data_points for kind in KINDS)


_Change = Callable[[DescriptorProto, FieldDescriptorProto], None]


@cache
def _class(signal: Signal, change: _Change) -> type[Message]:
    pool, descriptor = DescriptorPool(), SHAPES[signal].request.DESCRIPTOR
    for file in _files(descriptor.file):
        pool.AddSerializedFile(_changed(file, change).SerializeToString())
    made: type[Message] = GetMessageClass(pool.FindMessageTypeByName(descriptor.full_name))
    return made


def _files(file: Any) -> dict[Any, None]:
    """A file after all that it imports."""
    return {found: None for imported in file.dependencies for found in _files(imported)} | {file: None}


def _changed(file: Any, change: _Change) -> FileDescriptorProto:
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    for message in (inner for outer in proto.message_type for inner in (outer, *outer.nested_type)):
        message.ClearField("oneof_decl")  # merging would keep only the last kind
        for field in message.field:
            field.ClearField("oneof_index")
            field.ClearField("proto3_optional")
            change(message, field)
    return proto


def _merge(message: DescriptorProto, field: FieldDescriptorProto) -> None:
    if field.type == field.TYPE_MESSAGE:
        field.label = field.LABEL_OPTIONAL
    elif field.name in _COLUMNS.get(message.name, ()):
        field.label = field.LABEL_REPEATED


def _count(message: DescriptorProto, field: FieldDescriptorProto) -> None:
    if field.type_name.rpartition(".")[2] in _COLUMNS:
        field.type = field.TYPE_BYTES
        field.ClearField("type_name")
    else:
        _merge(message, field)
