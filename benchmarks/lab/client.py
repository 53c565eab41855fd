"""The RAG service: retrieval, then a chat call with its connection pool, time-out and retries, and what it records."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.lab.calls import Failure, record_call, record_served, refusal
from benchmarks.lab.clock import TIMED_OUT, Clock, Process, Signal
from benchmarks.lab.engine import Engine, Job
from benchmarks.lab.host import Host
from benchmarks.lab.telemetry import MILLIS, Source, Telemetry
from benchmarks.lab.world import Phase

INTERNAL, SERVER, CLIENT = 1, 2, 3


class Pool:
    """Connections; None of them means as many as are asked for."""

    def __init__(self, size: int | None) -> None:
        self._free = size
        self._queue: deque[Signal] = deque()

    def take(self) -> Signal:
        """Fires when there is a connection."""
        turn = Signal()
        if self._free is None:
            turn.fire()
        elif self._free:
            self._free -= 1
            turn.fire()
        else:
            self._queue.append(turn)
        return turn

    def give(self) -> None:
        """Hand it to whoever waits longest."""
        if self._queue:
            self._queue.popleft().fire()
        elif self._free is not None:
            self._free += 1


class Client:
    """Answers questions; `phase`, `engine` and `pool` are set anew when the world changes."""

    def __init__(self, phase: Phase, clock: Clock, host: Host, telemetry: Telemetry, rng: np.random.Generator) -> None:
        self.clock, self.host, self.telemetry, self.rng = clock, host, telemetry, rng
        self.engine: Engine | None = None
        self.source = Source("rag-api", "", "rag-api")
        self.engine_source = Source("vllm", "", "vllm.tracing.otel")
        self.change(phase)

    def change(self, phase: Phase) -> None:
        """The world of a phase; a new version is a new instance."""
        more = (("service.version", phase.client.version), ("deployment.environment.name", "lab"))
        self.phase, self.pool = phase, Pool(phase.client.pool)
        if self.source.more != more:
            self.source = Source("rag-api", str(uuid.UUID(bytes=self.rng.bytes(16), version=4)), "rag-api", more)

    def answer(self) -> Process:
        """One request from start to end."""
        t, root, begun = self.telemetry.trace_id(), self.telemetry.span_id(), self.clock.now
        yield self.host.takes(begun, 9e-5, int(self.rng.random() < 0.3))
        documents = yield from self._retrieve(t, root)
        yield self.host.takes(self.clock.now, 4e-4, int(self.rng.random() < 0.3))
        job = self._question(documents)
        status, error = 200, None
        try:
            yield from self._call(t, root, job)
        except Failure as failure:
            status, error = 500, (failure.type, failure.message)
            text = f"answer failed: {failure.message}"
            self.telemetry.log(self._scoped("rag"), self.clock.now, "ERROR", text, (t, root))
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

    def _scoped(self, scope: str) -> Source:
        return replace(self.source, scope=scope)

    def _retrieve(self, t: str, root: str) -> Generator[Any, Any, int]:
        c, own, query = self.phase.client, self.telemetry.span_id(), self.telemetry.span_id()
        begun = self.clock.now
        yield 1e-4
        asked = self.clock.now
        slow = float(self.rng.exponential(c.retrieval_s)) if c.retrieval_s else 0.0
        yield self.host.takes(asked, 8e-4, int(self.rng.random() < 0.4)) + slow
        values = {"db.system": "Qdrant", "qdrant.search.collection_name": "docs", "db.vector.query.top_k": c.documents}
        qdrant, ids = self._scoped("opentelemetry.instrumentation.qdrant"), (t, query, own)
        self.telemetry.span(qdrant, "qdrant.query_points", CLIENT, ids, asked, self.clock.now, values, ok=True)
        yield 5e-5
        documents = 0 if self.rng.random() < c.empty_share else c.documents
        values = {"retrieval.top_k": c.documents, "retrieval.documents.count": documents}
        self.telemetry.span(self.source, "retrieve", INTERNAL, (t, own, root), begun, self.clock.now, values)
        return documents

    def _question(self, documents: int) -> Job:
        load = self.phase.load
        output = max(2, round(self.rng.lognormal(np.log(load.output), load.output_spread)))
        limit = load.max_tokens or output
        return Job(
            id=self._job_id(),
            prompt=self._prompt(documents, self.phase.engine.max_model_len - limit),
            output=min(output, limit),
            max_tokens=limit,
            prefix=0 if load.unique_prefix else load.prefix,
        )

    def _prompt(self, documents: int, room: int) -> int:
        """Tokens of a prompt; ordinary ones are trimmed to the room there is, long conversations are not."""
        load = self.phase.load
        share = 0.45 + 0.55 * documents / self.phase.client.documents
        if self.rng.random() < load.long_share:
            return round(load.long_prompt * self.rng.lognormal(0, 0.1) * share)
        return min(round(load.prompt * self.rng.lognormal(0, load.prompt_spread) * share) + load.prefix, room)

    def _job_id(self) -> str:
        return f"chatcmpl-{self.rng.bytes(8).hex()}"

    def _call(self, t: str, root: str, job: Job) -> Process:
        """The chat call with its tries, as one span or as a span each."""
        c, own, begun = self.phase.client, self.telemetry.span_id(), self.clock.now
        for attempt in range(c.retries + 1):
            if attempt:
                job = Job(self._job_id(), job.prompt, job.output, job.max_tokens, job.prefix)
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
                self.telemetry.log(self._scoped("openai._base_client"), self.clock.now, "INFO", text, (t, own))
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
            pool.give()

    def _exchange(self, t: str, root: str, job: Job) -> Process:
        """One request over a connection."""
        assert self.engine is not None
        engine, c, begun = self.engine, self.phase.client, self.clock.now
        yield self.host.takes(begun, 4e-3, 4)
        job.done.then(lambda done: record_served(self.telemetry, self.engine_source, (t, root), done))
        answered = yield self.clock.within(engine.submit(job), c.timeout_s - (self.clock.now - begun))
        if answered is TIMED_OUT:
            if not c.hidden_retries:  # behind a proxy, as there, the engine does not notice that the caller is gone
                engine.abort(job)
            raise Failure("APITimeoutError", "Request timed out.")
        yield self.host.takes(self.clock.now, 4e-3, 4)
        if job.status == 400:
            raise Failure("BadRequestError", refusal(job, engine.config.max_model_len))

    def _record(self, ids: tuple[str, str, str], begun: float, job: Job, failure: Failure | None) -> None:
        times = (begun, self.clock.now)
        record_call(self.telemetry, self.source, ids, times, job, failure, self.phase.engine.model)
