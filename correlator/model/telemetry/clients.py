"""Spans for the requests that this process makes: httpx, and gRPC's asyncio clients.

Servers get none: telemetry that is received would make telemetry. Clients of gRPC without asyncio are the SDK's own
exporters, which are not to be traced either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry.instrumentation.grpc import GrpcAioInstrumentorClient
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider

_URLS = ("url.full", "http.url")


def instrument(provider: TracerProvider) -> Callable[[], None]:
    """From now on; until what is returned is called."""
    http, grpc = HTTPXClientInstrumentor(), GrpcAioInstrumentorClient()  # type: ignore[no-untyped-call]
    http.instrument(tracer_provider=provider, request_hook=_without_query, async_request_hook=_without_query_later)
    grpc.instrument(tracer_provider=provider)

    def end() -> None:
        http.uninstrument()
        grpc.uninstrument()

    return end


def _without_query(span: Any, request: object) -> None:
    """A URL goes out without its query, which may hold a key."""
    attributes = getattr(span, "attributes", None) or {}
    for name in _URLS:
        if name in attributes:
            span.set_attribute(name, attributes[name].partition("?")[0])


async def _without_query_later(span: Any, request: object) -> None:
    _without_query(span, request)
