"""Attributes of OTLP messages from Python values: what readers, scraper and samplers write alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue

Value = str | bool | int | float

ATTRIBUTE_LIMIT = 4_096
"""Characters of a text at most."""


def set_attributes(owner: Any, attributes: Mapping[str, Value]) -> None:
    """Append attributes, typed, to a resource, record or point."""
    for key, value in attributes.items():
        owner.attributes.add(key=key, value=any_value(value))


def any_value(value: Value) -> AnyValue:
    """The OTLP value of a Python scalar; an integer beyond 64 bits becomes its text."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=clean(str(value)[:ATTRIBUTE_LIMIT]))


def clean(text: str) -> str:
    """The text without half characters (lone surrogates), which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
