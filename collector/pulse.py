"""The collector's own beat, every ten seconds into its own spool: that it is there, and what it took and refused."""

from __future__ import annotations

import logging
import platform
import threading
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, NumberDataPoint

from collector.attributes import set_attributes
from collector.receiving.metrics import NO_SIGNAL, Metrics
from collector.sink import Full, Sink
from correlator.model.pulse import ACCEPTED, COLLECTOR, EVERY_S, HEARTBEAT, RECORDS, REFUSED, REJECTED
from correlator.model.records import Signal

KEPT_S = 5.0
"""To wait for a beat to be on disk before the next one is due."""
PASSING = frozenset({"slow", "busy", "full", "not_kept", "cut_off", "too_many_connections"})
"""Reasons for which the sender is to try again; the others are final."""
_LOG = logging.getLogger(__name__)

Key = tuple[str, tuple[tuple[str, str], ...]]
"""Name of a metric and its attributes."""


def intake_counts(metrics: Metrics) -> Mapping[Key, int]:
    """What the receivers took and refused since the start. What names no signal may not have been telemetry at all."""
    counts: Counts[Key] = Counts({(ACCEPTED, (("signal", signal),)): 0 for signal in Signal})
    for counter, name, sign in (
        (metrics.requests, ACCEPTED, 1),
        (metrics.refused, ACCEPTED, -1),
        (metrics.records, RECORDS, 1),
        (metrics.rejected, REJECTED, 1),
        (metrics.refused, REFUSED, 1),
    ):
        for signal, reason, value in _samples(counter):
            if signal == NO_SIGNAL and reason != "too_many_connections":
                continue
            labels: tuple[tuple[str, str], ...] = (("signal", signal),)
            if name == REFUSED:
                labels += (("reason", reason), ("final", str(reason not in PASSING).lower()))
            if name == REFUSED or signal != NO_SIGNAL:
                counts[name, labels] += sign * value
    return counts


def _samples(counter: object) -> Iterator[tuple[str, str, int]]:
    for family in counter.collect():  # type: ignore[attr-defined]
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield sample.labels["signal"], sample.labels.get("reason", ""), int(sample.value)


def resource(folder: Path) -> dict[str, str]:
    """Who beats: the same after a restart, another for another spool."""
    host = platform.node()
    identity = str(uuid5(NAMESPACE_URL, f"{host}:{folder.resolve()}"))
    return {"service.name": COLLECTOR, "service.instance.id": identity, "host.name": host}


def beat(who: Mapping[str, str], grown: Mapping[Key, int], since: int, now: int) -> bytes:
    """One beat as an OTLP request: the counts that have `grown` since the one before, both times in Unix ns."""
    request = ExportMetricsServiceRequest()
    one = request.resource_metrics.add()
    set_attributes(one.resource, who)
    scope = one.scope_metrics.add()
    scope.scope.name = "pulse"
    heartbeat = scope.metrics.add(name=HEARTBEAT, unit="1")
    heartbeat.gauge.data_points.add(time_unix_nano=now, as_int=1)
    metrics: dict[str, Metric] = {}
    for (name, labels), count in grown.items():
        point = NumberDataPoint(start_time_unix_nano=since, time_unix_nano=now, as_int=count)
        set_attributes(point, dict(labels))
        if name not in metrics:
            metrics[name] = scope.metrics.add(name=name, unit="{item}")
        total = metrics[name].sum
        total.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        total.is_monotonic = True
        total.data_points.append(point)
    return request.SerializeToString()


class Pulse:
    """Beats from `start` to `stop`, at once and once more at the end."""

    def __init__(
        self,
        sink: Sink,
        who: Mapping[str, str],
        counts: Callable[[], Mapping[Key, int]],
        unix_nano: Callable[[], int] = time.time_ns,
        every_s: float = EVERY_S,
    ) -> None:
        self._sink, self._who, self._counts, self._unix_nano, self._every_s = sink, who, counts, unix_nano, every_s
        self._told: Mapping[Key, int] = {}
        self._waiting: tuple[Future[None], Mapping[Key, int], int] | None = None
        self._since = unix_nano()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        """Begin; once only."""
        self._thread.start()

    def stop(self, grace_s: float = KEPT_S) -> None:
        """The last beat, then the end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(grace_s)

    def _run(self) -> None:
        self._once()
        while not self._stopping.wait(self._every_s):
            self._once()
        self._once()

    def _once(self) -> None:
        """One beat, unless the one before waits for the disk yet; one that is refused leaves its counts to the next."""
        if not self._settled():
            return
        counts, now = self._counts(), self._unix_nano()
        grown = {key: count - self._told.get(key, 0) for key, count in counts.items()}
        told = {key: count for key, count in grown.items() if count > 0 or key[0] == ACCEPTED}
        since = min(self._since, now)  # the clock may have been set back
        try:
            self._waiting = self._sink.put(Signal.METRICS, beat(self._who, told, since, now)), counts, now
        except Full:
            return
        self._settled(KEPT_S)

    def _settled(self, wait_s: float = 0.0) -> bool:
        """Whether the last beat was kept or refused, so that it is known what the next one has to tell."""
        if self._waiting is None:
            return True
        kept, counts, now = self._waiting
        try:
            kept.result(wait_s)
        except TimeoutError:
            return False
        except Full:
            self._waiting = None
        except Exception:
            _LOG.exception("a beat could not be kept")
            self._waiting = None
        else:
            self._told, self._since, self._waiting = counts, now, None
        return True
