"""What the receivers count, for `/metrics`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from prometheus_client import CollectorRegistry, Counter, Gauge

NO_SIGNAL = "none"
"""The label of what is refused before it names a signal."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counters of one intake. Refused requests are counted whole, rejected records by partial success."""

    requests: Counter
    records: Counter
    bytes: Counter
    refused: Counter
    rejected: Counter
    connections: Gauge

    @classmethod
    def on(cls, registry: CollectorRegistry, requests: Callable[[], float], held_bytes: Callable[[], float]) -> Self:
        """Register them all; `requests` and `held_bytes` tell what is in flight now."""
        sent = ("protocol", "signal")
        in_flight = Gauge("tollens_receiver_in_flight_requests", "Requests being answered.", registry=registry)
        in_flight.set_function(requests)
        held = Gauge("tollens_receiver_in_flight_bytes", "Bytes held for requests in flight.", registry=registry)
        held.set_function(held_bytes)
        return cls(
            Counter("tollens_receiver_requests_total", "Export requests begun.", sent, registry=registry),
            Counter("tollens_receiver_records_total", "Records acknowledged.", sent, registry=registry),
            Counter("tollens_receiver_bytes_total", "Bytes acknowledged, decompressed.", sent, registry=registry),
            Counter("tollens_receiver_refused_total", "Requests refused.", (*sent, "reason"), registry=registry),
            Counter("tollens_receiver_rejected_records_total", "Records rejected.", sent, registry=registry),
            Gauge("tollens_receiver_connections", "Open HTTP connections.", registry=registry),
        )
