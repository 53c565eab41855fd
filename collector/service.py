"""The collector as a whole: receivers, scraper and samplers fill the spool; correlator or forwarder empties it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from prometheus_client import CollectorRegistry, ProcessCollector

from collector import pulse
from collector.forward import Forwarder
from collector.forwarding.own_address import is_own
from collector.gpu_dcgm import DcgmiSampler
from collector.gpu_nvml import NvmlSampler
from collector.heap import give_back
from collector.otlp_grpc import serve_grpc
from collector.otlp_http import serve_http
from collector.own_metrics import (
    Asked,
    Totals,
    dcgm_metrics,
    forward_metrics,
    gpu_metrics,
    scrape_metrics,
    spool_metrics,
)
from collector.prometheus_scrape import Scraper
from collector.receiving.intake import Intake
from collector.receiving.metrics_server import serve_metrics
from collector.settings import CollectorSettings, ForwardSettings
from collector.spool import Spool
from correlator.model.errors import ConfigError
from correlator.model.telemetry import Spans
from correlator.model.telemetry import start as telemetry_of

REQUEST_GRACE_S = 10.0
"""For requests in flight to end, before they are cut off without an acknowledgement."""
SOURCE_GRACE_S = 5.0
FORWARD_GRACE_S = 5.0
METRICS_GRACE_S = 1.0
HEAP_EVERY_S = 2.0
"""Between two looks at how much memory is held."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ports:
    """Where it listens."""

    otlp_grpc_port: int
    otlp_http_port: int
    metrics_port: int


class _Source(Protocol):
    def start(self) -> None: ...
    def stop(self, grace_s: float = ...) -> None: ...


class _Server(Protocol):
    @property
    def port(self) -> int: ...
    async def stop(self, grace_s: float) -> None: ...


async def run(settings: CollectorSettings, stop: asyncio.Event, ready: Callable[[Ports], None]) -> None:
    """Collect until `stop` is set; `ready` is told the ports. ConfigError and InputError at the start only.

    Whatever was acknowledged is in sealed segments at the end. What stops first stands last.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(_refuse_own_receiver, settings)
        telemetry = await asyncio.to_thread(telemetry_of, settings.telemetry, "tollens-collector", registry)
        stack.push_async_callback(asyncio.to_thread, telemetry.close)
        metrics = serve_metrics(registry, settings.metrics)
        stack.push_async_callback(metrics.stop, METRICS_GRACE_S)
        forwarder = _forwarder(settings, registry, stack, telemetry.spans)
        spool = await asyncio.to_thread(Spool, settings.spool.folder, settings.spool.limits)
        stack.push_async_callback(asyncio.to_thread, spool.close)
        registry.register(Asked(lambda: spool_metrics(spool.state(), settings.spool.limits)))
        sources = _sources(settings, spool, registry, telemetry.spans)
        stack.push_async_callback(_stop_sources, sources)
        servers: list[_Server] = []
        stack.push_async_callback(_stop_servers, servers)
        intake = Intake(spool, settings.receivers, registry)
        servers.append(await serve_grpc(intake, settings.receivers))
        servers.append(await serve_http(intake, settings.receivers))
        ports = Ports(servers[0].port, servers[1].port, metrics.port)
        if forwarder is not None and settings.forward is not None:
            await asyncio.to_thread(_refuse_loop, settings.forward, settings.receivers.host, ports)
            forwarder.start()
        who, taken = pulse.resource(settings.spool.folder), partial(pulse.intake_counts, intake.metrics)
        sources.append(pulse.Pulse(spool, who, taken))
        heap = asyncio.create_task(_tend_heap())
        stack.callback(heap.cancel)
        for source in sources:
            source.start()
        _LOG.info("collecting into %s", settings.spool.folder)
        ready(ports)
        await stop.wait()
        _LOG.info("stopping")


async def _tend_heap() -> None:
    while True:
        await asyncio.sleep(HEAP_EVERY_S)
        await asyncio.to_thread(give_back)


def _forwarder(
    settings: CollectorSettings, registry: CollectorRegistry, stack: AsyncExitStack, spans: Spans
) -> Forwarder | None:
    """Stopped after the spool is closed: then what came last is sealed, too."""
    if settings.forward is None:
        return None
    forwarder = Forwarder(settings.spool.folder, settings.forward, spans=spans)
    stack.push_async_callback(forwarder.stop, FORWARD_GRACE_S)
    registry.register(Asked(lambda: forward_metrics(forwarder.state())))
    return forwarder


def _sources(settings: CollectorSettings, spool: Spool, registry: CollectorRegistry, spans: Spans) -> list[_Source]:
    """Scraper and samplers, each with its metrics; none has started."""
    gpu = settings.gpu
    scrape = settings.scrape.model_copy(update={"jobs": (*settings.scrape.jobs, *gpu.jobs())})
    scraper, scraped = Scraper(scrape, spool, spans=spans), Totals()
    registry.register(Asked(lambda: scrape_metrics(scraper.state(), scrape.max_targets, scraped)))
    sources: list[_Source] = [scraper]
    if gpu.nvml:
        nvml, failed = NvmlSampler(gpu, spool), Totals()
        registry.register(Asked(lambda: gpu_metrics(nvml.state(), failed)))
        sources.append(nvml)
    if gpu.dcgmi is not None:
        dcgmi = DcgmiSampler(gpu.dcgmi, gpu.host_name, spool)
        registry.register(Asked(lambda: dcgm_metrics(dcgmi.state())))
        sources.append(dcgmi)
    return sources


async def _stop_sources(sources: Iterable[_Source]) -> None:
    await asyncio.gather(*(asyncio.to_thread(source.stop, SOURCE_GRACE_S) for source in sources))


async def _stop_servers(servers: Iterable[_Server]) -> None:
    await asyncio.gather(*(server.stop(REQUEST_GRACE_S) for server in servers))


def _refuse_own_receiver(settings: CollectorSettings) -> None:
    """What we tell of ourselves would be told to ourselves. Ports that the system is to choose nobody can name yet."""
    endpoint, receivers = settings.telemetry.endpoint, settings.receivers
    ports = {receivers.grpc_port, receivers.http_port} - {0}
    if endpoint is not None and is_own(endpoint, receivers.host, ports):
        raise ConfigError(f"telemetry.endpoint {endpoint}: that is this collector's own receiver")


def _refuse_loop(forward: ForwardSettings, host: str, ports: Ports) -> None:
    if is_own(forward.endpoint, host, (ports.otlp_grpc_port, ports.otlp_http_port)):
        raise ConfigError(f"collector.forward.endpoint {forward.endpoint}: that is this collector's own receiver")
