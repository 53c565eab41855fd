"""OTLP JSON as the recordings have it: hex ids, 64-bit integers as strings, enums as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SDK = {"telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.45.2"}
Json = dict[str, Any]


def attributes(values: Mapping[str, Any]) -> list[Json]:
    """A mapping as a list of key and value."""
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"arrayValue": {"values": [_value(v) for v in value]}}


def resource(service: str, instance: str, more: Mapping[str, Any]) -> Json:
    """Who is speaking."""
    return {"attributes": attributes({**SDK, "service.instance.id": instance, "service.name": service, **more})}


def hex_id(rng: np.random.Generator, size: int) -> str:
    """A random id of that many bytes."""
    return rng.bytes(size).hex()


def histogram_point(
    values: Sequence[float],
    bounds: Sequence[float],
    labels: Mapping[str, Any],
    times: tuple[int, int],
    exemplars: list[Json],
) -> Json:
    """A cumulative histogram's data point; `times` are its start and its end in Unix nanoseconds."""
    counts = np.bincount(np.searchsorted(bounds, values, side="left"), minlength=len(bounds) + 1)
    return {
        "startTimeUnixNano": str(times[0]),
        "timeUnixNano": str(times[1]),
        "count": str(len(values)),
        "sum": float(sum(values)),
        "bucketCounts": [str(count) for count in counts],
        "explicitBounds": [float(bound) for bound in bounds],
        "exemplars": exemplars,
        "attributes": attributes(labels),
        "min": float(min(values)),
        "max": float(max(values)),
    }
