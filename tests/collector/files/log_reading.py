"""What the tests of the log readers share: a log as text in, its records and points out."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.files._contract import Options, Source
from correlator.model.records import Batch, Problem, Signal


def nano(text: str) -> int:
    """Unix nanoseconds of `2026-11-30 03:38:47` (UTC)."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000_000


NOW = nano("2026-12-15 00:00:00")


@dataclass
class Point:
    """One data point, flat."""

    name: str
    value: float
    unix_nano: int
    start_unix_nano: int
    attributes: dict[str, Any]


@dataclass
class Seen:
    """Everything a reader gave for one log."""

    logs: list[Any] = field(default_factory=list)
    services: list[str] = field(default_factory=list)  # of `logs`, one by one
    points: list[Point] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    batches: int = 0

    def events(self) -> list[str]:
        """Event names in order of time, settings left out."""
        ordered = sorted(self.logs, key=lambda log: log.time_unix_nano)
        return [log.event_name for log in ordered if log.event_name not in ("", "tollens.facts")]

    def facts(self) -> dict[str, Any]:
        """All settings, a later one over an earlier one."""
        merged: dict[str, Any] = {}
        for log in self.logs:
            if log.event_name == "tollens.facts":
                merged |= attributes(log)
        return merged

    def values(self, name: str) -> list[float]:
        """The values of one metric as given."""
        return [point.value for point in self.points if point.name == name]

    def the(self, event: str) -> Any:
        """The one log record of an event."""
        (found,) = [log for log in self.logs if log.event_name == event]
        return found


def attributes(owner: Any) -> dict[str, Any]:
    """Attributes of a resource, record or point as a dict."""
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in owner.attributes}


def source(text: str | bytes, name: str = "some.log") -> Source:
    """A file of this content."""
    data = text.encode() if isinstance(text, str) else text
    return Source(name, data[: 64 << 10], lambda: io.BytesIO(data), None)


def seen(items: Sequence[Batch | Problem]) -> Seen:
    """Decode what a reader yields."""
    found = Seen()
    for item in items:
        if isinstance(item, Problem):
            found.problems.append(item)
        elif item.signal is Signal.LOGS:
            _logs(item.payload, found)
        else:
            _points(item.payload, found)
    found.batches = len(items) - len(found.problems)
    return found


def _logs(payload: bytes, found: Seen) -> None:
    for resource in ExportLogsServiceRequest.FromString(payload).resource_logs:
        for scope in resource.scope_logs:
            found.logs.extend(scope.log_records)
            service = attributes(resource.resource)["service.name"]
            found.services.extend([service] * len(scope.log_records))


def _points(payload: bytes, found: Seen) -> None:
    for resource in ExportMetricsServiceRequest.FromString(payload).resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in getattr(metric, metric.WhichOneof("data")).data_points:
                    value = getattr(point, point.WhichOneof("value"))
                    times = point.time_unix_nano, point.start_time_unix_nano
                    found.points.append(Point(metric.name, value, *times, attributes(point)))


def read_log(reader: Any, text: str | bytes, near: str | None = None, now: int = NOW, name: str = "some.log") -> Seen:
    """Read a log with a module that is a reader, at a fixed time of the clock."""
    options = Options(near_unix_nano=nano(near) if near else None)
    return seen(list(reader.read(source(text, name), options, lambda: now)))
