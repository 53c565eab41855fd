"""Own telemetry that is on: the OpenTelemetry SDK with bounded queues, each signal sent by a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

from opentelemetry._logs import SeverityNumber
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from correlator.model.endpoints import read_headers
from correlator.model.telemetry import Attributes, TelemetrySettings
from correlator.model.telemetry.bounded import Bound, LogBatches, SpanBatches
from correlator.model.telemetry.clients import instrument
from correlator.model.telemetry.measured import measured
from correlator.model.telemetry.otlp import Exporters, exporters

FLUSH_S = 3.0
QUIET_S = 60.0
OURS = ("benchmarks", "collector", "correlator", "exporters", "hypotheses")
"""Only what we log ourselves: a library may log what it sends, and the SDK logs that it cannot send."""
LOG = logging.getLogger(__name__)


class Sending:
    """Own telemetry of one process, to one endpoint. Its providers are nobody else's: nothing global is set."""

    def __init__(self, settings: TelemetrySettings, service: str, registry: CollectorRegistry) -> None:
        assert settings.endpoint is not None
        path = settings.headers_file and settings.headers_file.expanduser()
        out = exporters(settings.endpoint, read_headers(path, "telemetry.headers_file"))
        resource = Resource.create({"service.name": service, "service.version": version("tollens")})
        self._bounds = {signal: Bound() for signal in ("traces", "logs", "metrics")}
        self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
        self._provider.add_span_processor(SpanBatches(out.spans, self._bounds["traces"]))
        self._tracer = self._provider.get_tracer("tollens", version("tollens"))
        self._logs = LoggerProvider(resource, shutdown_on_exit=False)
        self._logs.add_log_record_processor(LogBatches(out.logs, self._bounds["logs"]))
        self._handler = _Handler(self._logs)
        self._metrics = _Metrics(out.metrics, registry, resource, settings.interval_s, self._bounds["metrics"].counts)
        registry.register(_Told(self._bounds))
        logging.getLogger().addHandler(self._handler)
        _seldom(out)
        self._instrumented = instrument(self._provider)
        self._metrics.start()

    @contextmanager
    def spans(self, name: str) -> Iterator[Attributes]:
        """A span of this process. Of an error only the class goes out: its text may hold what is nobody's business."""
        told: Attributes = {}
        with self._tracer.start_as_current_span(name, end_on_exit=False, record_exception=False) as span:
            try:
                yield told
            except BaseException as error:
                told["error.type"] = type(error).__name__
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                if told:
                    span.set_attributes(told)
                    span.end()

    def close(self) -> None:
        """Send what waits, for FLUSH_S at most; what then has not gone out is lost."""
        logging.getLogger().removeHandler(self._handler)
        self._instrumented()
        ways = (self._provider.shutdown, self._logs.shutdown, self._metrics.close)
        ending = [threading.Thread(target=way, daemon=True) for way in ways]
        until = time.monotonic() + FLUSH_S
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join(max(0.0, until - time.monotonic()))


class _Metrics(threading.Thread):
    """Sends the registry every so often."""

    def __init__(
        self,
        exporter: MetricExporter,
        registry: CollectorRegistry,
        resource: Resource,
        interval_s: float,
        counts: Counter[str],
    ) -> None:
        super().__init__(name="telemetry", daemon=True)
        self._exporter, self._registry, self._resource, self._interval_s = exporter, registry, resource, interval_s
        self._counts, self._began, self._stopped = counts, time.time_ns(), threading.Event()

    def run(self) -> None:
        """Until closed, and once more then."""
        while not self._stopped.wait(self._interval_s):
            self._once()
        self._once()

    def close(self) -> None:
        """The last export, then the end."""
        self._stopped.set()
        self.join()
        self._exporter.shutdown()

    def _once(self) -> None:
        suppressed = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
        try:
            data = measured(self._registry, self._resource, self._began, time.time_ns())
            sent = self._exporter.export(data) is MetricExportResult.SUCCESS
            self._counts["exported" if sent else "failed"] += 1
        except Exception:
            self._counts["failed"] += 1
            LOG.exception("own metrics could not be sent")
        finally:
            detach(suppressed)


class _Handler(logging.Handler):
    """Our log records by OTLP, as they stand in the log; of an exception only its class and text."""

    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__(logging.INFO)
        self._provider = provider
        self.addFilter(lambda record: record.name.partition(".")[0] in OURS)

    def emit(self, record: logging.LogRecord) -> None:
        """For `logging`."""
        error = record.exc_info[1] if record.exc_info else None
        self._provider.get_logger(record.name).emit(
            timestamp=int(record.created * 1e9),
            observed_timestamp=time.time_ns(),
            severity_number=_severity(record.levelno),
            severity_text=record.levelname,
            body=record.getMessage(),
            attributes={"exception.type": type(error).__name__, "exception.message": str(error)} if error else {},
        )


def _severity(level: int) -> SeverityNumber:
    named = {logging.CRITICAL: SeverityNumber.FATAL, logging.ERROR: SeverityNumber.ERROR}
    if level in named:
        return named[level]
    return SeverityNumber.WARN if level >= logging.WARNING else SeverityNumber.INFO


class _Told(Collector):
    """The counts of own telemetry on `/metrics`."""

    def __init__(self, bounds: Mapping[str, Bound]) -> None:
        self._bounds = bounds

    def collect(self) -> Iterator[Metric]:
        """For prometheus-client."""
        text = "Own spans, log records and exports of metrics, by what became of them."
        family = CounterMetricFamily("tollens_telemetry", text, labels=["signal", "what"])
        for signal, bound in self._bounds.items():
            for what in ("exported", "failed", "dropped"):
                family.add_metric([signal, what], bound.counts[what])
        yield family


class _Once(logging.Filter):
    """Lets a logger through once a minute: with a dead endpoint the SDK would say so with every export."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """For `logging`."""
        if record.created < self._next:
            return False
        self._next = record.created + QUIET_S
        return True


def _seldom(out: Exporters) -> None:
    loggers = {kind.__module__ for one in (out.spans, out.logs, out.metrics) for kind in type(one).__mro__}
    for name in loggers:
        if name.startswith("opentelemetry.exporter"):
            logging.getLogger(name).addFilter(_Once())
