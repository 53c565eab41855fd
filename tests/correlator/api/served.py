"""The API over things made up, and a client that asks it inside this process."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

import httpx
from fastapi import FastAPI

from correlator.api import Asked, Options, Services, create_app
from correlator.model.alerts import Alert, Outcome, Taken
from correlator.model.errors import InputError
from correlator.model.evidence import Kind, Window
from correlator.model.incidents import Incident, Page, State, Wanted
from correlator.wiring import hypotheses
from exporters.json_object import to_object
from tests.exporters import sample

T0 = 1_796_009_700_000_000_000
TRACE = "0af7651916cd43dd8448eb211c80319c"
ANSWER = to_object(sample.incident())
QUESTION = {
    "baseline": {"start": "2026-11-30T03:35:00Z", "end": "2026-11-30T03:36:00Z"},
    "incident": {"start": "2026-11-30T03:36:00Z", "end": "2026-11-30T05:37:00.5+01:00"},
}


def incident(id: str = "a", opened: int = T0) -> Incident:
    return Incident(
        id=id,
        detector="change",
        kind=Kind.LATENCY,
        where="rag-api",
        title="slow",
        severity=2.5,
        onset=opened,
        opened=opened,
        updated=opened,
        baseline=Window(opened - 100, opened),
    )


def closed(incident: Incident) -> Incident:
    return replace(incident, state=State.CLOSED, closed=incident.opened + 1, diagnosis=ANSWER)


def trace(id: str) -> Mapping[str, object] | None:
    span = {
        "span_id": "b7ad6b7169203331",
        "parent_span_id": "",
        "name": "chat",
        "kind": "Server",
        "service": "rag-api",
        "start": "2026-11-30T03:35:00Z",
        "offset_s": 0.0,
        "duration_s": 0.5,
        "status": "Ok",
        "message": "",
        "attributes": {"a": "b"},
        "resource": {},
        "events": [{"time": "2026-11-30T03:35:00.1Z", "name": "e", "attributes": {}}],
    }
    return {"trace_id": id, "spans": [span], "truncated": False} if id == TRACE else None


def signals() -> list[Mapping[str, object]]:
    latency = {"name": "request_latency", "unit": "s", "meaning": "whole request", "sources": ["requests"], "rows": 3}
    return [latency | {"interval_s": None, "last_seen": "2026-11-30T03:35:00Z"}]


@dataclass
class Made:
    """What is served; tests change it. `asked` are the questions that came."""

    incidents: list[Incident] = field(default_factory=lambda: [closed(incident("a")), incident("b", T0 + 5)])
    diagnose: Callable[[Asked], Mapping[str, object]] = lambda asked: ANSWER
    missing: str | None = None
    asked: list[Asked | Wanted] = field(default_factory=list)
    take: Callable[[Alert], Taken] = lambda alert: Taken(alert.fingerprint, Outcome.OPENED, "a")
    alerts: list[Alert] = field(default_factory=list)

    def services(self) -> Services:
        return Services(
            diagnose=self._diagnose,
            list_incidents=self._find,
            get_incident=lambda id: next((i for i in self.incidents if i.id == id), None),
            trace=trace,
            hypotheses=hypotheses,
            signals=signals,
            alerts=self._take,
            ready=lambda: self.missing,
        )

    def _take(self, alerts: Sequence[Alert]) -> list[Taken]:
        self.alerts += alerts
        return [self.take(alert) for alert in alerts]

    def _diagnose(self, asked: Asked) -> Mapping[str, object]:
        self.asked.append(asked)
        return self.diagnose(asked)

    def _find(self, wanted: Wanted) -> Page:
        self.asked.append(wanted)
        if wanted.cursor not in (None, "a"):
            raise InputError("cursor: expected the value of `next` of an earlier page")
        return Page(tuple(self.incidents[: wanted.limit]), "a" if len(self.incidents) > wanted.limit else None)


class Client:
    """Asks the application in this process; `with` begins and ends its lifespan."""

    def __init__(self, made: Made | Services, options: Options | None = None) -> None:
        self.app: FastAPI = create_app(made.services() if isinstance(made, Made) else made, options)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()

    def __enter__(self) -> Self:
        self._runner.run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: Any) -> httpx.Response:
        return self.request("GET", path, headers=headers, params=query or None)

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        return self._runner.run(self.ask(method, path, **given))

    def together(self, work: Callable[[], Any]) -> Any:
        """Run a coroutine that asks several things at once."""
        return self._runner.run(work())

    async def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        return await self._http.request(method, path, **given)

    async def _open(self) -> None:
        await self._stack.enter_async_context(self.app.router.lifespan_context(self.app))
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._http = await self._stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://tollens")
        )
