"""Steps of a request beside search and model that a service may have: a profile, a reranker, a pooled store."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lab.calls import Failure
from benchmarks.lab.clock import Process
from benchmarks.lab.engine import Job
from benchmarks.lab.otlp import Json, attributes
from benchmarks.lab.telemetry import SECONDS

if TYPE_CHECKING:
    from benchmarks.lab.client import Client

INTERNAL, CLIENT = 1, 3
PROFILES = "http://profiles:8080/v1/profile"
STORE = {"db.system.name": "qdrant", "db.client.connection.pool.name": "docs"}


def ask_profile(client: Client, t: str, root: str) -> Process:
    """Each request asks another service first who is asking; its failure is the request's."""
    c = client.phase.client
    if not c.profile_s:
        return
    begun, own = client.clock.now, client.telemetry.span_id()
    yield float(client.rng.lognormal(np.log(c.profile_s), 0.4))
    failed = client.rng.random() < c.profile_errors
    status = 503 if failed else 200
    values: dict[str, object] = {"http.request.method": "GET", "url.full": PROFILES, "server.address": "profiles"}
    values |= {"http.response.status_code": status, **({"error.type": "503"} if failed else {})}
    error = ("HTTPStatusError", f"Server error '503 Service Unavailable' for url '{PROFILES}'") if failed else None
    httpx = client.scoped("opentelemetry.instrumentation.httpx")
    client.telemetry.span(httpx, "GET", CLIENT, (t, own, root), begun, client.clock.now, values, error)
    if error:
        raise Failure(*error)


def embed(client: Client, t: str, parent: str) -> Generator[Any, Any, dict[str, float]]:
    """The query becomes a vector; how near the best document lies to it is the search's score."""
    c = client.phase.client
    if not c.embedding:
        return {}
    begun, own = client.clock.now, client.telemetry.span_id()
    yield client.host.takes(begun, 3e-3, 1)
    values = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": c.embedding}
    client.telemetry.span(
        client.source, f"embeddings {c.embedding}", CLIENT, (t, own, parent), begun, client.clock.now, values
    )
    return {"retrieval.score": float(np.clip(client.rng.normal(c.nearness, 0.05), 0, 1))}


def evaluate(client: Client, t: str, parent: str, job: Job) -> None:
    """An evaluator marks the answer, and tells it as the conventions for generative AI say."""
    c = client.phase.client
    if not c.score:
        return
    mark = float(np.clip(client.rng.normal(c.cut_score if job.cut else c.score, 0.1), 0, 1))
    values = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": mark}
    judge, event = client.scoped("evaluator"), "gen_ai.evaluation.result"
    client.telemetry.log(judge, client.clock.now, "INFO", "", (t, parent), event, values)


def rerank(client: Client, t: str, root: str) -> Process:
    """What was found is put in order by a model of its own, unless the same question was asked before."""
    c = client.phase.client
    if not c.rerank_s or client.rng.random() < c.rerank_cached:
        return
    begun, own = client.clock.now, client.telemetry.span_id()
    yield float(client.rng.lognormal(np.log(c.rerank_s), 0.4))
    values = {"gen_ai.operation.name": "rerank", "rerank.documents.count": c.documents}
    client.telemetry.span(client.source, "rerank", INTERNAL, (t, own, root), begun, client.clock.now, values)


def store_connection(client: Client, t: str, parent: str) -> Process:
    """A search needs a connection of the store's pool, and gives it back some time after its answer."""
    c, pool = client.phase.client, client.store_pool
    if pool.size is None:
        return
    begun, own = client.clock.now, client.telemetry.span_id()
    yield pool.take()
    client.telemetry.span(client.source, "pool.acquire", INTERNAL, (t, own, parent), begun, client.clock.now, STORE)
    taken, held = client.clock.now, float(client.rng.lognormal(np.log(c.store_held_s), 0.3))
    name, end = "db.client.connection.use_time", taken + held
    client.telemetry.measure(client.source, name, "s", SECONDS, STORE, end, held, (t, parent))
    client.clock.after(held, pool.give)


def store_figures(client: Client, now_nano: int) -> list[Json]:
    """The pool's own metrics by the conventions for database clients; none of a pool without a size."""
    pool = client.store_pool
    if pool.size is None:
        return []
    used = STORE | {"db.client.connection.state": "used"}
    told = (
        ("count", "{connection}", pool.used, used),
        ("max", "{connection}", pool.size, STORE),
        ("pending_requests", "{request}", pool.pending, STORE),
    )
    return [_sum(f"db.client.connection.{name}", unit, value, labels, now_nano) for name, unit, value, labels in told]


def _sum(name: str, unit: str, value: int, labels: dict[str, str], now_nano: int) -> Json:
    point = {"timeUnixNano": str(now_nano), "asInt": str(value), "attributes": attributes(labels)}
    return {"name": name, "unit": unit, "sum": {"dataPoints": [point], "aggregationTemporality": 2}}
