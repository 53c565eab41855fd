"""Tells the tables themselves what did not get into them, so that a diagnosis of that time knows."""

from __future__ import annotations

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from correlator.model.pulse import CORRELATOR, QUARANTINED
from correlator.model.records import Batch, Signal
from correlator.store.store import Store


def tell_refused(store: Store, signal: Signal, requests: int, now: int) -> None:
    """That at `now` (Unix ns) so many requests of a signal could not be loaded. StoreError passes."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    resource.resource.attributes.add(key="service.name").value.string_value = CORRELATOR
    metric = resource.scope_metrics.add().metrics.add(name=QUARANTINED, unit="{request}")
    metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
    metric.sum.is_monotonic = True
    point = metric.sum.data_points.add(start_time_unix_nano=now - 1, time_unix_nano=now, as_int=requests)
    point.attributes.add(key="signal").value.string_value = signal
    store.load([Batch(Signal.METRICS, request.SerializeToString())])
