"""The RAG service: retrieval, then a chat call with its connection pool, time-out and retries, and what it records."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.lab.calls import DROPPED, REFUSED, Failure, record_call, record_served, refusal
from benchmarks.lab.clock import TIMED_OUT, Clock, Process
from benchmarks.lab.engine import Job
from benchmarks.lab.host import Host
from benchmarks.lab.pool import Pool
from benchmarks.lab.questions import again, question
from benchmarks.lab.server import Server
from benchmarks.lab.steps import ask_profile, embed, evaluate, rerank, store_connection
from benchmarks.lab.telemetry import MILLIS, Source, Telemetry
from benchmarks.lab.world import Phase

INTERNAL, SERVER, CLIENT = 1, 2, 3


class Client:
    """Answers questions; `phase` and the pools are set anew when the world changes."""

    def __init__(self, phase: Phase, clock: Clock, host: Host, telemetry: Telemetry, rng: np.random.Generator) -> None:
        self.clock, self.host, self.telemetry, self.rng = clock, host, telemetry, rng
        self.servers: Sequence[Server] = ()
        self.source = Source("rag-api", "", "rag-api")
        self._quiet_since = 0.0
        self.change(phase)

    def change(self, phase: Phase) -> None:
        """The world of a phase; a new version is a new instance."""
        more = (("service.version", phase.client.version), ("deployment.environment.name", "lab"))
        self.phase, self.pool = phase, Pool(phase.client.pool)
        self.store_pool = Pool(phase.client.store_pool)
        if self.source.more != more:
            self.source = Source("rag-api", str(uuid.UUID(bytes=self.rng.bytes(16), version=4)), "rag-api", more)

    def answer(self) -> Process:
        """One request from start to end."""
        t, root, begun = self.telemetry.trace_id(), self.telemetry.span_id(), self.clock.now
        yield self.host.takes(begun, 9e-5, int(self.rng.random() < 0.3))
        status, error = 200, None
        try:
            yield from ask_profile(self, t, root)
            documents = yield from self._retrieve(t, root)
            yield from rerank(self, t, root)
            yield self.host.takes(self.clock.now, 4e-4, int(self.rng.random() < 0.3))
            job = question(self.phase, self.rng, documents)
            yield from self._call(t, root, job)
            evaluate(self, t, root, job)
        except Failure as failure:
            status, error = 500, (failure.type, failure.message)
            text = f"answer failed: {failure.message}{failure.cause and f' ({failure.cause})'}"
            self.telemetry.log(self.scoped("rag"), self.clock.now, "ERROR", text, (t, root))
        yield 2e-4
        values = {
            "http.request.method": "POST", "http.route": "/v1/answer", "tenant.id": f"tenant-{self.rng.integers(1, 9)}",
            "http.response.status_code": status,
        }  # fmt: skip
        now = self.clock.now
        self.telemetry.span(self.source, "POST /v1/answer", SERVER, (t, root, ""), begun, now, values, error)
        labels = {"http.route": "/v1/answer", "http.request.method": "POST"}
        name = "http.server.request.duration"
        self.telemetry.measure(self.source, name, "s", MILLIS, labels, now, now - begun, (t, root))

    def scoped(self, scope: str) -> Source:
        """This service speaking through an instrumentation."""
        return replace(self.source, scope=scope)

    def _retrieve(self, t: str, root: str) -> Generator[Any, Any, int]:
        c, own, query = self.phase.client, self.telemetry.span_id(), self.telemetry.span_id()
        begun = self.clock.now
        yield 1e-4
        score = yield from embed(self, t, own)
        yield from store_connection(self, t, own)
        asked = self.clock.now
        slow = float(self.rng.exponential(c.retrieval_s)) if c.retrieval_s else 0.0
        yield self.host.takes(asked, 8e-4, int(self.rng.random() < 0.4)) + slow
        values = {"db.system": "Qdrant", "qdrant.search.collection_name": "docs", "db.vector.query.top_k": c.documents}
        qdrant, ids = self.scoped("opentelemetry.instrumentation.qdrant"), (t, query, own)
        self.telemetry.span(qdrant, "qdrant.query_points", CLIENT, ids, asked, self.clock.now, values, ok=True)
        yield 5e-5
        documents = 0 if self.rng.random() < c.empty_share else c.documents
        values = {"retrieval.top_k": c.documents, "retrieval.documents.count": documents, **score}
        self.telemetry.span(self.source, "retrieve", INTERNAL, (t, own, root), begun, self.clock.now, values)
        return documents

    def _call(self, t: str, root: str, job: Job) -> Process:
        """The chat call with its tries, as one span or as a span each."""
        c, own, begun = self.phase.client, self.telemetry.span_id(), self.clock.now
        for attempt in range(c.retries + 1):
            if attempt:
                job = again(job, self.rng)
            try:
                yield from self._attempt(t, root, job)
                self._record((t, own, root), begun, job, None)
                return
            except Failure as failure:
                last = attempt == c.retries or failure.type == "BadRequestError"
                if last or not c.hidden_retries:
                    self._record((t, own, root), begun, job, failure)
                if last:
                    raise
            yield 0.01
            if c.hidden_retries:
                text = "Retrying request to /chat/completions in 0.010000 seconds"
                self.telemetry.log(self.scoped("openai._base_client"), self.clock.now, "INFO", text, (t, own))
            else:
                own, begun = self.telemetry.span_id(), self.clock.now

    def _attempt(self, t: str, root: str, job: Job) -> Process:
        pool = self.pool
        yield pool.take()
        self.host.calls += 1
        try:
            yield from self._exchange(t, root, job)
        finally:
            self.host.calls -= 1
            self._quiet_since = self.clock.now
            pool.give()

    def _exchange(self, t: str, root: str, job: Job) -> Process:
        """One request over a connection."""
        server, c, begun = self._server(), self.phase.client, self.clock.now
        silent = begun - self._quiet_since if self.host.calls == 1 else 0.0
        yield self.host.takes(begun, 4e-3, 4)
        if c.idle_limit_s is not None and silent > c.idle_limit_s:
            raise DROPPED
        engine, source = server.engine, server.source
        if engine is None:
            raise REFUSED
        job.done.then(lambda done: record_served(self.telemetry, source, (t, root), done))
        answered = yield self.clock.within(engine.submit(job), c.timeout_s - (self.clock.now - begun))
        if answered is TIMED_OUT:
            if not c.hidden_retries:  # behind a proxy, as there, the engine does not notice that the caller is gone
                engine.abort(job)
            raise Failure("APITimeoutError", "Request timed out.")
        yield self.host.takes(self.clock.now, 4e-3, 4)
        if job.status != 200:
            raise refusal(job, engine.config.max_model_len)

    def _server(self) -> Server:
        """One of the replicas: by chance, but for the calls that stick to the first."""
        sticky = self.phase.client.sticky
        if len(self.servers) == 1 or (sticky and self.rng.random() < sticky):
            return self.servers[0]
        return self.servers[int(self.rng.integers(len(self.servers)))]

    def _record(self, ids: tuple[str, str, str], begun: float, job: Job, failure: Failure | None) -> None:
        c, now = self.phase.client, self.clock.now
        if c.streamed and failure is None:
            job.first_seen = now if c.buffered else (job.first_token or now)
        record_call(self.telemetry, self.source, ids, (begun, now), job, failure, self.phase.engine.model)
