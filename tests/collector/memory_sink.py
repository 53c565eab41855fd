"""A sink that keeps requests in memory and lets a test wait for what it expects."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.sink import Full
from correlator.model.records import Signal

PATIENCE_S = 20.0
Attributes = dict[str, Any]


class Point(NamedTuple):
    """A data point with all that stands around it."""

    name: str
    kind: str
    unit: str
    resource: Attributes
    attributes: Attributes
    value: float | None
    unix_nano: int
    raw: Any

    @property
    def gone(self) -> bool:
        return bool(self.raw.flags & 1)


class Log(NamedTuple):
    """A log record with its resource."""

    event: str
    body: str
    resource: Attributes
    attributes: Attributes
    unix_nano: int


def eventually(condition: Callable[[], Any]) -> Any:
    """Ask again and again until the condition gives something true; that is returned."""
    end, never = time.monotonic() + PATIENCE_S, threading.Event()
    while not (found := condition()):
        assert time.monotonic() < end, "what was expected did not come"
        never.wait(0.01)
    return found


class MemorySink:
    """Keeps what it is given; while `full` it refuses at once, while `late` the future says so afterwards."""

    def __init__(self) -> None:
        self.full = False
        self.late = False
        self.refused = 0
        self._kept: list[tuple[Signal, bytes]] = []
        self._changed = threading.Condition()

    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        future: Future[None] = Future()
        with self._changed:
            if self.full or self.late:
                self.refused += 1
                self._changed.notify_all()
            if self.full:
                raise Full("test")
            if self.late:
                future.set_exception(Full("test"))
            else:
                self._kept.append((signal, payload))
                future.set_result(None)
            self._changed.notify_all()
        return future

    def until(self, condition: Callable[[], Any]) -> Any:
        """Wait until the condition gives something true, asked after each request; that is returned."""
        found = None

        def holds() -> bool:
            nonlocal found
            found = condition()
            return bool(found)

        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE_S), "what was expected did not come"
        return found

    def clear(self) -> None:
        with self._changed:
            self._kept.clear()

    def payloads(self, signal: Signal) -> list[bytes]:
        return [payload for kind, payload in list(self._kept) if kind is signal]

    def points(self, name: str | None = None) -> list[Point]:
        """All points, or those of one metric, in the order in which they came."""
        return [point for point in self._points() if name in (None, point.name)]

    def values(self, name: str) -> list[float | None]:
        return [point.value for point in self.points(name)]

    def _points(self) -> Iterator[Point]:
        for payload in self.payloads(Signal.METRICS):
            for resource in ExportMetricsServiceRequest.FromString(payload).resource_metrics:
                for metric in (m for scope in resource.scope_metrics for m in scope.metrics):
                    kind = metric.WhichOneof("data") or ""
                    for point in getattr(metric, kind).data_points:
                        yield Point(
                            metric.name,
                            kind,
                            metric.unit,
                            attributes_of(resource.resource),
                            attributes_of(point),
                            _value(kind, point),
                            point.time_unix_nano,
                            point,
                        )

    def logs(self) -> list[Log]:
        return [
            Log(r.event_name, r.body.string_value, attributes_of(resource.resource), attributes_of(r), r.time_unix_nano)
            for payload in self.payloads(Signal.LOGS)
            for resource in ExportLogsServiceRequest.FromString(payload).resource_logs
            for scope in resource.scope_logs
            for r in scope.log_records
        ]


def attributes_of(owner: Any) -> Attributes:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in owner.attributes}


def _value(kind: str, point: Any) -> float | None:
    if kind not in ("gauge", "sum"):
        return float(point.sum)
    which = point.WhichOneof("value")
    return None if which is None else float(getattr(point, which))
