"""What OTLP answers: how much was accepted, or why nothing was and whether the same may succeed later."""

from __future__ import annotations

import math
from enum import Enum
from typing import Self

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code  # type: ignore[import-untyped]
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.receiving.requests import Checked
from correlator.model.records import Signal

_RESPONSES: dict[Signal, tuple[type[Message], str]] = {
    Signal.TRACES: (ExportTraceServiceResponse, "rejected_spans"),
    Signal.METRICS: (ExportMetricsServiceResponse, "rejected_data_points"),
    Signal.LOGS: (ExportLogsServiceResponse, "rejected_log_records"),
}


def response(signal: Signal, checked: Checked) -> Message:
    """The Export response: empty, or a partial success where records were left out."""
    kind, rejected = _RESPONSES[signal]
    if not checked.rejected:
        return kind()
    return kind(partial_success={rejected: checked.rejected, "error_message": checked.message})


class Reason(Enum):
    """(label, gRPC code, HTTP status) of each reason there is."""

    MALFORMED = ("malformed", Code.INVALID_ARGUMENT, 400)
    UNAUTHENTICATED = ("unauthenticated", Code.UNAUTHENTICATED, 401)
    UNKNOWN_PATH = ("unknown_path", Code.NOT_FOUND, 404)
    WRONG_METHOD = ("wrong_method", Code.UNIMPLEMENTED, 405)
    SLOW = ("slow", Code.DEADLINE_EXCEEDED, 503)  # not 408: OTLP senders throw away what gets that
    TOO_LARGE = ("too_large", Code.RESOURCE_EXHAUSTED, 413)
    UNSUPPORTED = ("unsupported", Code.INVALID_ARGUMENT, 415)
    BUSY = ("busy", Code.RESOURCE_EXHAUSTED, 429)
    LONG_HEADERS = ("long_headers", Code.INVALID_ARGUMENT, 431)
    FULL = ("full", Code.RESOURCE_EXHAUSTED, 503)
    NOT_KEPT = ("not_kept", Code.UNAVAILABLE, 503)
    NO_MESSAGE = ("no_message", Code.INVALID_ARGUMENT, 400)
    CUT_OFF = ("cut_off", Code.CANCELLED, 400)
    INTERNAL = ("internal", Code.INTERNAL, 500)
    TOO_MANY_CONNECTIONS = ("too_many_connections", Code.UNAVAILABLE, 503)

    def __init__(self, label: str, grpc_code: int, http_status: int) -> None:
        self.label = label
        self.grpc_code = grpc_code
        self.http_status = http_status


class Refused(Exception):
    """Nothing of the request was kept. With `retry_after_s` the sender should try again, else never."""

    def __init__(self, reason: Reason, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after_s = None if retry_after_s is None else max(1, math.ceil(retry_after_s))

    def alone(self) -> Self:
        """The same without what led to it: the frames of a traceback hold the request, for as long as it is kept."""
        self.__context__ = None
        return self.with_traceback(None)

    def status(self) -> Status:
        """The same as `google.rpc.Status`, with RetryInfo where trying again makes sense."""
        status = Status(code=self.reason.grpc_code, message=str(self))
        if self.retry_after_s is not None:
            status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=self.retry_after_s)))
        return status
