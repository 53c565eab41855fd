"""The routes: thin, each takes its parameters, asks one function, and answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.exposition import choose_encoder
from starlette.exceptions import HTTPException

from correlator.api import alerts, shapes
from correlator.api.answers import UNCHANGED, tagged
from correlator.api.diagnosis import Diagnosis
from correlator.api.problems import documented, problem
from correlator.api.services import Asked, Options, Services
from correlator.api.times import Time
from correlator.api.workers import Pools, Workers
from correlator.model.alerts import Outcome
from correlator.model.evidence import Kind
from correlator.model.incidents import PAGE_LIMIT, State, Wanted, as_object

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
TraceId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
READ = documented(401, 422, 500, 503) | UNCHANGED
ONE = READ | documented(404)

ALERTS = {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Notification", "PlainAlert")]}
TEXT: dict[int | str, dict[str, object]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


def resources(services: Services, threads: Pools, registry: CollectorRegistry) -> APIRouter:
    """Everything under `/api/v1`."""
    router = APIRouter(prefix="/api/v1")
    faulty = Counter(
        "tollens_alert_problems",
        "Faults in alerts that came in, and alerts that the sender left out",
        registry=registry,
    )

    @router.get("/incidents", response_model=shapes.IncidentPage, responses=READ)
    async def list_incidents(
        request: Request,
        state: State | None = None,
        kind: Kind | None = None,
        where: shapes.Text | None = None,
        since: Annotated[Time | None, Query(description="Under way at this time or later.")] = None,
        until: Annotated[Time | None, Query(description="Opened before this time.")] = None,
        cursor: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
    ) -> Response:
        """Incidents, latest opened first."""
        wanted = Wanted(state=state, kind=kind, where=where, since=since, until=until, cursor=cursor, limit=limit)
        return tagged(request, shapes.page(await threads.reads.run(services.list_incidents, wanted)))

    @router.get("/incidents/{id}", response_model=shapes.IncidentWhole, responses=ONE)
    async def get_incident(request: Request, id: Id) -> Response:
        """One incident with its latest diagnosis."""
        found = await threads.reads.run(services.get_incident, id)
        if found is None:
            raise HTTPException(404, f"there is no incident {id}")
        return tagged(request, as_object(found))

    @router.post("/diagnose", response_model=Diagnosis, responses=documented(400, 401, 413, 422, 500, 503))
    async def diagnose(request: Request, question: shapes.Question) -> Response:
        """Compare two stretches of time now. 503 while as many diagnoses run as may."""
        asked = Asked(question.windows(), question.symptom, question.where)
        return tagged(request, await threads.diagnoses.run(services.diagnose, asked))

    @router.post(
        "/alerts",
        status_code=202,
        response_model=alerts.Received,
        responses=documented(400, 401, 413, 422, 500, 503),
        openapi_extra={"requestBody": {"content": {"application/json": {"schema": ALERTS}}}},
    )
    async def take_alerts(body: Annotated[dict[str, Any], Body()]) -> object:
        """Alerts of Alertmanager, Grafana or whoever sends the plain form: each opens, continues or ends an incident.

        Told again they change nothing. 503 when some found no room; send all of them again later.
        """
        try:
            told, faults = alerts.read(body)
        except RequestValidationError as error:
            faulty.inc(len(error.errors()))
            raise
        missing = alerts.left_out(body)
        faulty.inc(len(faults) + missing)
        taken = await threads.reads.run(services.alerts, told)
        refused = sum(one.outcome is Outcome.REFUSED for one in taken)
        if refused:
            return problem(503, f"{refused} alerts found no room: too many incidents are open", {"Retry-After": "60"})
        return alerts.received(taken, faults, missing)

    @router.get("/traces/{trace_id}", response_model=shapes.Trace, responses=ONE)
    async def trace(request: Request, trace_id: TraceId) -> Response:
        """The spans of a trace."""
        found = await threads.traces.run(services.trace, trace_id)
        if found is None:
            raise HTTPException(404, f"there is no trace {trace_id}")
        return tagged(request, found)

    @router.get("/hypotheses", response_model=shapes.Hypotheses, responses=READ)
    async def list_hypotheses(request: Request) -> Response:
        """Every claim that is judged."""
        return tagged(request, {"hypotheses": list(services.hypotheses())})

    @router.get("/hypotheses/{id}", response_model=shapes.Hypothesis, responses=ONE)
    async def get_hypothesis(request: Request, id: Id) -> Response:
        """One claim."""
        found = next((h for h in services.hypotheses() if h["id"] == id), None)
        if found is None:
            raise HTTPException(404, f"there is no hypothesis {id}")
        return tagged(request, found)

    @router.get("/signals", response_model=shapes.Signals, responses=READ)
    async def signals(request: Request) -> Response:
        """Canonical signals that have data."""
        return tagged(request, {"signals": list(await threads.joins.run(services.signals))})

    @router.get("/connections", response_model=shapes.Connections, responses=READ)
    async def connections(request: Request) -> Response:
        """What ties GPUs to what serves on them."""
        return tagged(request, {"connections": list(await threads.joins.run(services.connections))})

    return router


def probes(services: Services, options: Options, readers: Workers) -> APIRouter:
    """Liveness, readiness and metrics."""
    router = APIRouter()

    @router.get("/healthz", response_model=shapes.Health)
    async def healthz() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok"}

    @router.get("/readyz", response_model=shapes.Health, responses=documented(500, 503))
    async def readyz() -> object:
        """Requests can be answered."""
        missing = await readers.run(services.ready)
        return {"status": "ready"} if missing is None else problem(503, missing, {"Retry-After": "5"})

    @router.get("/metrics", response_class=Response, responses=documented(401, 500, 503) | TEXT)
    async def metrics(request: Request) -> Response:
        """Prometheus text, or OpenMetrics where asked for."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(await readers.run(encode, options.registry), headers={"Content-Type": content_type})

    return router
