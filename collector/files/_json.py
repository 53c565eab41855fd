"""OTLP JSON values → keyword arguments of the OTLP message classes, strictly, by their descriptors.

OTLP JSON is not protobuf JSON: ids are hex, enums are integers only, 64-bit integers are text or numbers.
The official decoder would want base64 ids and takes twice the time; this one names the field it cannot read.
"""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

MAX_NESTING = 30  # of arrays and key-value lists in a value; protobuf itself ends at 100 messages
_RECORD = re.compile("(Resource|Scope)(Spans|Metrics|Logs)|Span|Metric|LogRecord|[A-Za-z]+DataPoint")
_ID_LENGTH = {"trace_id": 32, "span_id": 16, "parent_span_id": 16}
_FLOAT_TEXT = frozenset(("NaN", "Infinity", "-Infinity"))


class Unfit(ValueError):
    """A value that is not what its field expects; `path` grows on the way out."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.path = ""

    def inside(self, key: str) -> Unfit:
        """The same, seen from the value that holds it under `key`."""
        self.path = key + ("." if self.path and not self.path.startswith("[") else "") + self.path
        return self


@dataclass(slots=True)
class Losses:
    """The records left out of one document, and how deep the current value is nested.

    Where more than `most` would be left out, the document itself is unfit.
    """

    unfit: list[Unfit] = field(default_factory=list)
    depth: int = 0
    most: int = sys.maxsize


_Convert = Callable[[Any, Losses], Any]


@cache
def message(descriptor: Descriptor) -> _Convert:
    """A function from a JSON object to the keyword arguments of this message; it raises Unfit."""
    fields: dict[str, tuple[str, _Convert]] = {}
    oneofs = [[f.name for f in oneof.fields] for oneof in descriptor.oneofs if len(oneof.fields) > 1]

    def convert(value: Any, losses: Losses) -> dict[str, Any]:
        if type(value) is not dict:
            raise Unfit("expected an object")
        if not fields:  # here, not above: AnyValue holds itself
            fields.update((f.json_name, (f.name, _field(f))) for f in descriptor.fields)
        out = {}
        lost = len(losses.unfit)
        for key, item in value.items():
            known = fields.get(key)
            if known is not None and item is not None:
                try:
                    out[known[0]] = known[1](item, losses)
                except Unfit as unfit:
                    raise unfit.inside(key) from None
                while lost < len(losses.unfit):
                    losses.unfit[lost].inside(key)
                    lost += 1
        if len(out) > 1:
            for names in oneofs:
                if sum(name in out for name in names) > 1:
                    raise Unfit("expected only one kind of value")
        return out

    return _nested(convert) if descriptor.name in ("ArrayValue", "KeyValueList") else convert


def _nested(convert: _Convert) -> _Convert:
    def guarded(value: Any, losses: Losses) -> Any:
        if losses.depth >= MAX_NESTING:
            raise Unfit(f"expected at most {MAX_NESTING} nested values")
        losses.depth += 1
        try:
            return convert(value, losses)
        finally:
            losses.depth -= 1

    return guarded


def _field(descriptor: FieldDescriptor) -> _Convert:
    convert = _single(descriptor)
    if not descriptor.is_repeated:
        return convert
    return _records(convert) if _is_record(descriptor) else _list(convert)


def _is_record(descriptor: FieldDescriptor) -> bool:
    return descriptor.message_type is not None and _RECORD.fullmatch(descriptor.message_type.name) is not None


def _list(convert: _Convert) -> _Convert:
    def convert_list(value: Any, losses: Losses) -> list[Any]:
        if type(value) is not list:
            raise Unfit("expected an array")
        out: list[Any] = []
        try:
            for item in value:
                out.append(convert(item, losses))
        except Unfit as unfit:
            raise unfit.inside(f"[{len(out)}]") from None
        return out

    return convert_list


def _records(convert: _Convert) -> _Convert:
    """Like `_list`, but an unfit record is set aside and the others stay."""

    def convert_records(value: Any, losses: Losses) -> list[Any]:
        if type(value) is not list:
            raise Unfit("expected an array")
        out = []
        for index, item in enumerate(value):
            before = len(losses.unfit)
            try:
                out.append(convert(item, losses))
            except Unfit as error:
                if len(losses.unfit) >= losses.most:
                    raise Unfit(f"expected at most {losses.most} unfit records") from None
                losses.unfit.append(error)
            for unfit in losses.unfit[before:]:
                unfit.inside(f"[{index}]")
        return out

    return convert_records


def _single(descriptor: FieldDescriptor) -> _Convert:
    if descriptor.message_type is not None:
        return message(descriptor.message_type)
    if descriptor.name in _ID_LENGTH:
        return _hex(_ID_LENGTH[descriptor.name])
    return _SCALARS[descriptor.type]


def _hex(length: int) -> _Convert:
    def convert(value: Any, losses: Losses) -> bytes:
        try:
            out = bytes.fromhex(value)
        except (TypeError, ValueError):
            out = b"?"
        if out and len(out) * 2 != length:
            raise Unfit(f"expected {length} hex characters, found {_shown(value)}")
        return out

    return convert


def _integer(low: int, high: int, name: str) -> _Convert:
    def convert(value: Any, losses: Losses) -> int:
        try:
            out = int(value) if type(value) is str else value
            if type(out) is float and out.is_integer():
                out = int(out)
        except ValueError:
            out = None
        if type(out) is not int or not low <= out <= high:
            raise Unfit(f"expected {name}, found {_shown(value)}")
        return out

    return convert


def _double(value: Any, losses: Losses) -> float:
    if type(value) is float or type(value) is int or (type(value) is str and _is_number(value)):
        try:
            return float(value)
        except OverflowError:
            pass
    raise Unfit(f"expected a number, found {_shown(value)}")


def _is_number(text: str) -> bool:
    try:
        return text in _FLOAT_TEXT or abs(float(text)) < float("inf")
    except ValueError:
        return False


def _string(value: Any, losses: Losses) -> str:
    if type(value) is not str:
        raise Unfit(f"expected a string, found {_shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unfit("expected valid Unicode, found half of a surrogate pair") from None
    return value


def _bool(value: Any, losses: Losses) -> bool:
    if type(value) is not bool:
        raise Unfit(f"expected true or false, found {_shown(value)}")
    return value


def _bytes(value: Any, losses: Losses) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise Unfit(f"expected base64 text, found {_shown(value)}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_INT64 = _integer(-(2**63), 2**63 - 1, "a 64-bit integer")
_UINT64 = _integer(0, 2**64 - 1, "an unsigned 64-bit integer")
_INT32 = _integer(-(2**31), 2**31 - 1, "a 32-bit integer")
_UINT32 = _integer(0, 2**32 - 1, "an unsigned 32-bit integer")
_SCALARS: dict[int, _Convert] = {
    FieldDescriptor.TYPE_DOUBLE: _double,
    FieldDescriptor.TYPE_INT64: _INT64,
    FieldDescriptor.TYPE_SFIXED64: _INT64,
    FieldDescriptor.TYPE_UINT64: _UINT64,
    FieldDescriptor.TYPE_FIXED64: _UINT64,
    FieldDescriptor.TYPE_SINT32: _INT32,
    FieldDescriptor.TYPE_INT32: _INT32,
    FieldDescriptor.TYPE_UINT32: _UINT32,
    FieldDescriptor.TYPE_FIXED32: _UINT32,
    FieldDescriptor.TYPE_ENUM: _integer(-(2**31), 2**31 - 1, "an integer (enum names are not OTLP)"),
    FieldDescriptor.TYPE_STRING: _string,
    FieldDescriptor.TYPE_BOOL: _bool,
    FieldDescriptor.TYPE_BYTES: _bytes,
}
