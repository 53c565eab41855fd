"""The store: the OpenTelemetry Collector's ClickHouse tables in an engine embedded in this process."""

from correlator.store.engine import StoreError
from correlator.store.store import LoadReport, Store

__all__ = ["LoadReport", "Store", "StoreError"]
