"""The SDK's batch processors with an exact bound: what finds no room is dropped at once, and counted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk._logs import ReadableLogRecord, ReadWriteLogRecord
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

WAITING = 2_048
"""Spans, and as many log records, that wait for their export at most."""
BATCH = 512
DELAY_MS = 2_000.0


class Bound:
    """Counts what waits and what became of it: exported, failed, dropped."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._waiting = 0

    def has_room(self) -> bool:
        """Room for one more, which then waits."""
        with self._lock:
            room = self._waiting < WAITING
            self._waiting += room
            self.counts["dropped"] += not room
        return room

    def exported(self, batch: Sequence[Any], export: Callable[[Any], Any], success: object) -> Any:
        """Export what has waited."""
        succeeded = False
        try:
            result = export(batch)
            succeeded = result is success
            return result
        finally:
            with self._lock:
                self._waiting -= len(batch)
                self.counts["exported" if succeeded else "failed"] += len(batch)


class SpanBatches(BatchSpanProcessor):
    """Spans on their way to `exporter`, in a thread of its own."""

    def __init__(self, exporter: SpanExporter, bound: Bound) -> None:
        super().__init__(_Spans(exporter, bound), WAITING, DELAY_MS, BATCH)
        self._bound = bound

    def on_end(self, span: ReadableSpan) -> None:
        """For the SDK."""
        if self._bound.has_room():
            super().on_end(span)


class LogBatches(BatchLogRecordProcessor):
    """Log records on their way to `exporter`, in a thread of its own."""

    def __init__(self, exporter: LogRecordExporter, bound: Bound) -> None:
        super().__init__(_Logs(exporter, bound), DELAY_MS, BATCH, None, WAITING)
        self._bound = bound

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        """For the SDK."""
        if self._bound.has_room():
            super().on_emit(log_record)


class _Spans(SpanExporter):
    def __init__(self, exporter: SpanExporter, bound: Bound) -> None:
        self._exporter, self._bound = exporter, bound

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result: SpanExportResult = self._bound.exported(spans, self._exporter.export, SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _Logs(LogRecordExporter):
    def __init__(self, exporter: LogRecordExporter, bound: Bound) -> None:
        self._exporter, self._bound = exporter, bound

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        result: LogRecordExportResult = self._bound.exported(
            batch, self._exporter.export, LogRecordExportResult.SUCCESS
        )
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True
