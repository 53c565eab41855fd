"""One target: scraped at its interval, never twice at a time; what it said goes into the sink, and what fell silent."""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import httpx
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, NumberDataPoint

from collector.attributes import set_attributes
from collector.files._otlp import batches
from collector.scraping.fetch import ScrapeError, client_for, fetch
from collector.scraping.page import Exposed, Series, exposed, markers, series_of
from collector.scraping.targets import Target
from collector.sink import Full, Sink
from correlator.model.records import Signal
from correlator.model.telemetry import Spans, untraced

SCOPE = "prometheus_scrape"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TargetState:
    """How a target fares. `up` is None before the first scrape; `counts` are since its loop began.

    Keys of `counts`: scrapes, samples, faulty_lines, skipped_scrapes, refused_requests (by the sink), stale_series,
    and failed.<kind> by kind of failure.
    """

    url: str
    job: str
    up: bool | None
    unix_nano: int | None
    duration_s: float | None
    error: str
    counts: dict[str, int]


@dataclass(slots=True)
class TargetLoop:
    """The scrapes of one target. `ended` ends it after the scrape that is under way."""

    target: Target
    sink: Sink
    unix_nano: Callable[[], int]
    spans: Spans = untraced
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _known: set[Series] = field(default_factory=set)
    _service: str | None = None
    _up: bool | None = None
    _last_unix_nano: int | None = None
    _duration_s: float | None = None
    _error: str = ""
    _counts: Counter[str] = field(default_factory=Counter)

    def state(self) -> TargetState:
        """How it fares now."""
        last = (self._up, self._last_unix_nano, self._duration_s, self._error)
        return TargetState(self.target.url, self.target.job, *last, dict(self._counts))

    async def run(self) -> None:
        """Scrape until `ended` is set."""
        interval, loop = self.target.interval_s, asyncio.get_running_loop()
        due = loop.time() + _offset(self.target) * interval
        async with _Client(self.target) as client:
            while not await is_set_within(self.ended, due - loop.time()):
                await self._safely(client)
                missed = max(0, int((loop.time() - due) // interval))
                self._counts["skipped_scrapes"] += missed
                due += (missed + 1) * interval

    async def forget(self) -> None:
        """The target is no longer to be scraped: say of each of its series that it ends here."""
        gone, self._known = self._known, set()
        await self._put(markers(gone, self.unix_nano()))

    async def _safely(self, client: _Client) -> None:
        try:
            with self.spans("scrape") as told:
                await self._scrape(client)
                told |= {"server.address": self.target.host, "server.port": self.target.port}
                told |= {"tollens.job": self.target.job, "tollens.up": bool(self._up)}
        except Exception:
            self._counts["failed.internal"] += 1
            _LOG.exception("scrape of %s failed in an unexpected way", self.target.url)

    async def _scrape(self, client: _Client) -> None:
        unix_nano, began = self.unix_nano(), time.monotonic()
        try:
            page, error = await self._page(client, unix_nano), ""
        except ScrapeError as failure:
            page, error = Exposed(), str(failure)
            self._counts[f"failed.{failure.kind}"] += 1
        duration_s = time.monotonic() - began
        self._note(page, error, unix_nano, duration_s)
        told = [*page.metrics, *_about(not error, duration_s, page.samples, unix_nano)]
        present = series_of(told, unix_nano)
        gone = self._known - present
        if await self._put([*told, *markers(gone, unix_nano)]):
            self._known = present
            self._counts["stale_series"] += len(gone)
        else:
            self._known |= present

    async def _page(self, client: _Client, unix_nano: int) -> Exposed:
        try:
            async with asyncio.timeout(self.target.timeout_s):
                body = await fetch(client.http(), self.target)
        except TimeoutError:
            raise ScrapeError("timeout", f"expected a page within {self.target.timeout_s:g} s") from None
        return await asyncio.to_thread(exposed, body, unix_nano, self.target.sample_limit)

    def _note(self, page: Exposed, error: str, unix_nano: int, duration_s: float) -> None:
        if error and self._up is not False:
            _LOG.warning("target %s is down: %s", self.target.url, error)
        self._service = page.service or self._service
        self._up, self._last_unix_nano, self._duration_s = not error, unix_nano, duration_s
        self._error = error or page.fault
        self._counts.update(scrapes=1, samples=page.samples, faulty_lines=page.faults)

    async def _put(self, metrics: list[Metric]) -> bool:
        """Give the metrics to the sink; was all of it kept?"""
        request = ExportMetricsServiceRequest()
        resource = request.resource_metrics.add()
        set_attributes(resource.resource, _resource(self.target, self._service))
        scope = resource.scope_metrics.add()
        scope.scope.name = SCOPE
        scope.metrics.extend(metrics)
        kept = [await self._kept(batch.payload) for batch in batches(Signal.METRICS, request)]
        return all(kept)

    async def _kept(self, payload: bytes) -> bool:
        try:
            kept = self.sink.put(Signal.METRICS, payload)
            await asyncio.shield(asyncio.wrap_future(kept))  # the sink's future is not ours to cancel
        except Full:
            self._counts["refused_requests"] += 1
            return False
        return True


class _Client:
    """The target's HTTP client, made when first needed: certificates may be missing today and there tomorrow."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._http: httpx.AsyncClient | None = None

    def http(self) -> httpx.AsyncClient:
        """The client. Raises ScrapeError."""
        if self._http is None:
            self._http = client_for(self._target)
        return self._http

    async def __aenter__(self) -> _Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.aclose()


def _about(up: bool, duration_s: float, samples: int, unix_nano: int) -> Iterable[Metric]:
    """What the scrape itself tells of the target, named as Prometheus does."""
    for name, unit, value in (
        ("up", "1", float(up)),
        ("scrape_duration_seconds", "s", duration_s),
        ("scrape_samples_scraped", "{sample}", float(samples)),
    ):
        point = NumberDataPoint(time_unix_nano=unix_nano, as_double=value)
        yield Metric(name=name, unit=unit, gauge=Gauge(data_points=[point]))


def _resource(target: Target, service: str | None) -> dict[str, str | int]:
    return {
        "service.name": service or target.job,
        "service.instance.id": target.instance,
        "server.address": target.host,
        "server.port": target.port,
        "url.scheme": target.scheme,
        "job": target.job,
        **dict(target.labels),
    }


def _offset(target: Target) -> float:
    """Where in its interval a target is scraped, 0 to 1: spread over targets, the same after a restart."""
    return zlib.crc32(f"{target.job} {target.url} {target.labels}".encode()) / (1 << 32)


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait so long at most: whether the event is set."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            return await event.wait()
    except TimeoutError:
        return event.is_set()
