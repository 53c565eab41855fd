"""An OTLP backend on loopback that keeps what it is sent, decoded, and may pass it on."""

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE_S = 20.0
KINDS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}


class Handler(BaseHTTPRequestHandler):
    """Keeps what is posted; answers GET with nothing."""

    server: "Backend"

    def do_POST(self) -> None:
        body = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.gate.wait(PATIENCE_S)
        self.server.got.append((self.path, KINDS[self.path].FromString(body), dict(self.headers)))
        self._answer()
        self.server.passed_on(self.path, body)

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Backend(ThreadingHTTPServer):
    """An OTLP backend; it answers while `gate` is open."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, Any, dict[str, str]]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.passed_on: Callable[[str, bytes], object] = lambda path, body: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Span]:
        found = [request for path, request, _ in list(self.got) if path == "/v1/traces"]
        return [
            s for r in found for resource in r.resource_spans for scope in resource.scope_spans for s in scope.spans
        ]

    def metrics(self) -> dict[str, Any]:
        found = [request for path, request, _ in list(self.got) if path == "/v1/metrics"]
        return {
            m.name: m for r in found for one in r.resource_metrics for scope in one.scope_metrics for m in scope.metrics
        }

    def logs(self) -> list[Any]:
        found = [request for path, request, _ in list(self.got) if path == "/v1/logs"]
        return [x for r in found for one in r.resource_logs for scope in one.scope_logs for x in scope.log_records]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone away at the end of a test."""


@contextmanager
def running() -> Iterator[Backend]:
    """One that answers until the end."""
    with Backend() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.gate.set()
            server.shutdown()
            thread.join()
