"""OTLP/gRPC: the three Export services and the standard health service, on grpc.aio.

Handlers take raw bytes. They are declared as streams of requests, which on the wire is the same: so a call is
let in, or refused, before its message is received.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio as health
from grpc_health.v1.health_pb2 import HealthCheckResponse

from collector.receiving.answers import Reason, Refused, response
from collector.receiving.http_connection import AGAIN_S
from collector.receiving.intake import Intake
from collector.receiving.security import grpc_credentials
from collector.receiving.settings import Limits, ReceiverSettings
from correlator.model.errors import ConfigError
from correlator.model.records import Signal

SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
}
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class GrpcServer:
    """A running receiver. Runs in the asyncio loop that started it."""

    def __init__(self, server: grpc.aio.Server, health_service: health.HealthServicer, port: int) -> None:
        self.port = port
        self._server = server
        self._health = health_service

    async def stop(self, grace_s: float) -> None:
        """Take no further calls, let those in flight end within `grace_s` seconds, then cancel them."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)


async def serve_grpc(intake: Intake, settings: ReceiverSettings) -> GrpcServer:
    """Listen in the running loop. Raises ConfigError where address or TLS files cannot be used."""
    server, health_service = grpc.aio.server(options=_options(settings.limits)), health.HealthServicer()
    handlers = (
        grpc.method_handlers_generic_handler(name, {"Export": grpc.stream_unary_rpc_method_handler(_export(intake, s))})
        for s, name in SERVICES.items()
    )
    server.add_generic_rpc_handlers(tuple(handlers))
    health_pb2_grpc.add_HealthServicer_to_server(health_service, server)
    port = _listen(server, settings)
    await server.start()
    for name in ("", *SERVICES.values()):
        await health_service.set(name, HealthCheckResponse.SERVING)
    return GrpcServer(server, health_service, port)


def _listen(server: grpc.aio.Server, settings: ReceiverSettings) -> int:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{host}:{settings.grpc_port}"
    try:
        if settings.tls is None:
            return int(server.add_insecure_port(address))
        return int(server.add_secure_port(address, grpc_credentials(settings.tls)))
    except RuntimeError:
        raise ConfigError(f"OTLP/gRPC cannot listen on {address}: is the port in use?") from None


_Handler = Callable[[Any, Any], Awaitable[bytes]]


def _export(intake: Intake, signal: Signal) -> _Handler:
    async def export(_: Any, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        answer = await _answer(intake, signal, context)
        return await _aborted(context, answer) if isinstance(answer, Refused) else answer

    return export


async def _answer(intake: Intake, signal: Signal, context: grpc.aio.ServicerContext[Any, Any]) -> bytes | Refused:
    """The answer, or why there is none. Not raised: gRPC keeps what ends a call, and all that it holds, in a cycle."""
    authorization = dict(context.invocation_metadata() or ()).get("authorization")
    try:
        with intake.admit("grpc", signal, authorization) as admission:
            payload = await _message(context, intake.limits.body_s)
            admission.hold(len(payload))
            checked = await intake.take_protobuf(admission, payload)
    except Refused as refused:
        return refused.alone()
    return response(signal, checked).SerializeToString()


async def _message(context: grpc.aio.ServicerContext[Any, Any], body_s: float) -> bytes:
    """The one message of a call; gRPC itself has answered where it was too large."""
    try:
        async with asyncio.timeout(body_s):
            payload = await context.read()
    except TimeoutError:
        raise Refused(Reason.SLOW, f"no whole message within {body_s:g} s", AGAIN_S) from None
    if not isinstance(payload, bytes):
        raise Refused(Reason.NO_MESSAGE, "expected one message")
    return payload


async def _aborted(context: grpc.aio.ServicerContext[Any, Any], refused: Refused) -> NoReturn:
    details = (("grpc-status-details-bin", refused.status().SerializeToString()),)
    await context.abort(_CODES[refused.reason.grpc_code], str(refused), details)


def _options(limits: Limits) -> list[tuple[str, int]]:
    header_ms = int(limits.header_s * 1000)
    return [
        ("grpc.so_reuseport", 0),  # or a second service would share the port in silence
        ("grpc.max_receive_message_length", limits.message_bytes),  # gRPC holds it for decompressed bytes, too
        ("grpc.max_metadata_size", limits.header_bytes),
        ("grpc.absolute_max_metadata_size", limits.header_bytes),
        ("grpc.max_concurrent_streams", limits.streams),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.max_connection_idle_ms", int(limits.idle_s * 1000)),
        ("grpc.server_handshake_timeout_ms", header_ms),
        ("grpc.http2.settings_timeout", header_ms),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 2),
    ]
