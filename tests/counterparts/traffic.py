"""Telemetry of all three signals, each record with a number, and the numbers found in the spool of a Tollens."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, NumberDataPoint

from correlator.model.records import Signal
from tests.collector.spooling import spooled
from tests.collector.telemetry import KINDS, NOW, log, logs, metrics, span, spans

PREFIX = "numbered."
"""Tells our records from what the Collector scrapes."""


def payload(signal: Signal, numbers: Iterable[int]) -> bytes:
    """A request with one record a number; every number is a trace of its own."""
    if signal is Signal.TRACES:
        return spans(*[span(name=f"{PREFIX}{n}", trace_id=trace_id(n), span_id=trace_id(n)[8:]) for n in numbers])
    if signal is Signal.LOGS:
        return logs(*[log(body=AnyValue(string_value=f"{PREFIX}{n}"), trace_id=trace_id(n)) for n in numbers])
    point = NumberDataPoint(time_unix_nano=NOW, as_int=1)
    return metrics(*[Metric(name=f"{PREFIX}{n}", gauge=Gauge(data_points=[point])) for n in numbers])


def trace_id(number: int) -> bytes:
    """Spread over the hash ring of the load balancer, and never zero."""
    return (number * 0x9E3779B97F4A7C15 + 1).to_bytes(16)


def send(client: httpx.Client, url: str, numbers: Iterable[int]) -> None:
    """Post the numbers once as each signal, and see them acknowledged; HTTPStatusError if they are not."""
    numbers = list(numbers)
    for signal in Signal:
        headers = {"Content-Type": "application/x-protobuf"}
        client.post(f"{url}/v1/{signal}", content=payload(signal, numbers), headers=headers).raise_for_status()


def arrived(data: Path) -> dict[Signal, Counter[int]]:
    """How often each number is in the spool of `data`, by signal."""
    found: dict[Signal, Counter[int]] = {signal: Counter() for signal in Signal}
    for signal, request in spooled(data / "spool"):
        texts = [text for text in texts_of(signal, request) if text.startswith(PREFIX)]
        found[signal].update(int(text.removeprefix(PREFIX)) for text in texts)
    return found


def texts_of(signal: Signal, request: bytes) -> list[str]:
    """Span names, metric names or log bodies of a request."""
    found: Any = KINDS[signal].FromString(request)
    if signal is Signal.TRACES:
        return [each.name for r in found.resource_spans for s in r.scope_spans for each in s.spans]
    if signal is Signal.METRICS:
        return [each.name for r in found.resource_metrics for s in r.scope_metrics for each in s.metrics]
    return [each.body.string_value for r in found.resource_logs for s in r.scope_logs for each in s.log_records]


def whole(data: Path, numbers: Iterable[int]) -> bool:
    """Whether each number arrived as each signal, once or more."""
    with suppress(FileNotFoundError):  # a segment was renamed while we looked
        return all(set(numbers) <= set(found) for found in arrived(data).values())
    return False
