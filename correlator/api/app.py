"""The application: routes, guards, errors and the threads that do the work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from prometheus_client import Counter, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.middleware.cors import CORSMiddleware

from correlator.api import alerts, problems
from correlator.api.deliveries import deliveries
from correlator.api.guards import Limited, Metered, Token
from correlator.api.routes import probes, resources
from correlator.api.services import Options, Services
from correlator.api.workers import Workers, pools


def create_app(services: Services, options: Options | None = None) -> FastAPI:
    """The API over these services. Its threads end when the application's lifespan does."""
    options = options or Options()
    threads = pools(options.diagnoses)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for workers in threads[::-1]:
            workers.close()

    app = FastAPI(
        title="Tollens",
        version=version("tollens"),
        description="Why AI serving got slow, wrong or down: incidents, diagnoses, and what they rest on.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.include_router(resources(services, threads, options.registry))
    app.include_router(deliveries(services, threads.reads))
    app.include_router(probes(services, options, threads.reads))
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    problems.install(app)
    _guard(app, options)
    options.registry.register(_Threads(threads))
    return app


def _guard(app: FastAPI, options: Options) -> None:
    """Middleware, the last added outermost: a browser's preflight comes before the token, counting before all."""
    app.add_middleware(Limited, limit=options.body_bytes, larger={"/api/v1/alerts": alerts.BODY_BYTES})
    if options.token is not None:
        app.add_middleware(Token, token=options.token)
    if options.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match"],
            expose_headers=["ETag", "Retry-After"],
        )
    labels, registry = ["route", "method", "code"], options.registry
    app.add_middleware(
        Metered,
        requests=Counter("tollens_api_requests", "Requests answered", labels, registry=registry),
        seconds=Histogram("tollens_api_request_seconds", "Time to answer", ["route"], registry=registry),
    )


def _document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI with the shape of errors, and the token where one is set."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = found.setdefault("components", {})
        parts["schemas"] |= problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}").pop(
            "$defs"
        ) | {"Problem": problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}")}
        parts["schemas"] |= alerts.schemas()
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}, {}]
        app.openapi_schema = found
    return app.openapi_schema


class _Threads(Collector):
    """How many threads are busy and how much was refused, read when asked."""

    def __init__(self, workers: Sequence[Workers]) -> None:
        self._workers = workers

    def collect(self) -> Iterator[Metric]:
        """For prometheus-client."""
        busy = GaugeMetricFamily("tollens_api_busy", "Work that runs or waits", labels=["work"])
        refused = CounterMetricFamily("tollens_api_refused", "Work for which there was no room", labels=["work"])
        for workers in self._workers:
            busy.add_metric([workers.name], workers.busy)
            refused.add_metric([workers.name], workers.refused)
        yield busy
        yield refused
