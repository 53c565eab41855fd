"""`tollens doctor`: would it run here, and what would it see? Checks say what they looked at and change nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
from rich.console import Console

from collector import settings as collecting
from collector.gpu.nvml import NVMLError, nvml
from collector.scraping.fetch import ScrapeError, client_for, fetch
from collector.scraping.targets import Discovery, Target
from collector.settings import CollectorSettings
from correlator import settings as correlating
from correlator.doctor_checks import Check, State, asked
from correlator.doctor_clock import clock
from correlator.doctor_connections import connected
from correlator.model.errors import ConfigError
from correlator.model.listening import listening
from correlator.model.names import SIGNALS
from correlator.settings import Settings
from correlator.store import Store
from correlator.store.engine import StoreError

__all__ = ["Check", "Ports", "State", "examine", "report"]

SKEW_S = 2.0
"""A Date header has whole seconds and travels: less cannot be told."""
_STYLES = {State.OK: "green", State.OFF: "dim", State.WARN: "yellow", State.FAIL: "red"}


@dataclass(frozen=True, slots=True)
class Ports:
    """Those of the command line, which go before the configured ones."""

    api: int | None = None
    otlp_grpc: int | None = None
    otlp_http: int | None = None
    metrics: int | None = None


def examine(
    config: Path | None, data: Path | None, how_to_measure: Mapping[str, str], ports: Ports = Ports()
) -> Iterator[Check]:
    """All checks, in order; the later ones are left out where the settings cannot be read."""
    try:
        told = correlating.load(config).on(data, ports.api)
        taking = collecting.load(config, data).on_ports(ports.otlp_grpc, ports.otlp_http, ports.metrics)
    except ConfigError as error:
        yield Check("settings", State.FAIL, str(error))
        return
    yield Check("settings", State.OK, str(config) if config else "defaults, no file given")
    running = _answers(told.api.host, told.api.port)
    yield from _ports(told, taking, running)
    yield _disk(told.folder, told, taking)
    yield clock()
    yield _engine()
    yield _gpu(taking)
    yield from _targets(taking)
    yield from _told(told, config)
    if running and told.exporters.targets:
        yield _outgoing(told)
    yield from connected(told, running)
    yield from _seen(told, how_to_measure) if running else (_not_running(),)


def report(checks: Iterator[Check], console: Console) -> int:
    """Print each check as it comes: exit code 1 when one of them failed."""
    failed = False
    for check in checks:
        failed |= check.state is State.FAIL
        console.print(f"[{_STYLES[check.state]}]{check.state:<4}[/]  {check.name}", end="  ", highlight=False)
        console.print(check.text, markup=False, highlight=False, soft_wrap=True)
    return int(failed)


def _ports(told: Settings, taking: CollectorSettings, running: bool) -> Iterator[Check]:
    receivers, metrics = taking.receivers, taking.metrics
    for name, host, port in (
        ("OTLP/gRPC", receivers.host, receivers.grpc_port),
        ("OTLP/HTTP", receivers.host, receivers.http_port),
        ("collector metrics", metrics.host, metrics.port),
        ("API", told.api.host, told.api.port),
    ):
        yield _port(f"port {port} ({name})", host, port, running)


def _port(name: str, host: str, port: int, running: bool) -> Check:
    try:
        listening(name, host, port).close()
    except ConfigError as error:
        if running:
            return Check(name, State.OK, f"{host}:{port} is in use while `tollens up` runs")
        return Check(name, State.WARN, f"{error}, and no `tollens up` answers")
    return Check(name, State.OK, f"{host}:{port} is free")


def _disk(folder: Path, told: Settings, taking: CollectorSettings) -> Check:
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free, wanted = shutil.disk_usage(there).free, told.retention.max_bytes + taking.spool.capacity_bytes
    text = f"{folder}: {free / 1e9:.1f} GB free, tables and spool may take {wanted / 1e9:.1f} GB"
    return Check("disk", State.OK if free >= wanted else State.WARN, text)


def _engine() -> Check:
    try:
        with Store.open() as store:
            version = store.query("SELECT version() AS version")["version"][0]
    except (StoreError, OSError) as error:
        return Check("engine", State.FAIL, str(error))
    return Check("engine", State.OK, f"ClickHouse {version} in this process")


def _gpu(taking: CollectorSettings) -> Check:
    if not taking.gpu.nvml:
        return Check("GPU", State.OFF, "gpu.nvml is false: nothing will be known of GPUs here")
    try:
        nvml.nvmlInit()
        found = nvml.nvmlDeviceGetCount()
        nvml.nvmlShutdown()
    except NVMLError as error:
        return Check("GPU", State.OFF, f"{error}: nothing will be known of GPUs here")
    return Check("GPU", State.OK, f"{found} by NVML")


def _targets(taking: CollectorSettings) -> Iterator[Check]:
    jobs = (*taking.scrape.jobs, *taking.gpu.jobs())
    discovery = Discovery(taking.scrape.model_copy(update={"jobs": jobs}))
    targets = discovery.targets()
    for source, reason in discovery.problems.items():
        yield Check(f"targets {source}", State.FAIL, reason)
    if not targets:
        yield Check("targets", State.OFF, "none configured: engines are seen only if they send OTLP themselves")
    for target in targets:
        yield asyncio.run(_target(target))


def _told(told: Settings, config: Path | None) -> Iterator[Check]:
    """Who is told of incidents, and whether their settings and secrets can be used."""
    from exporters._targets import bound

    if not told.exporters.targets:
        yield Check("exporters", State.OFF, "no targets configured: incidents are only seen by who looks")
        return
    try:
        found = bound(told.exporters.targets, config)
    except ConfigError as error:
        yield Check("exporters", State.FAIL, str(error))
        return
    yield Check("exporters", State.OK, ", ".join(f"{each.settings.name} ({each.exporter.id})" for each in found))


def _outgoing(told: Settings) -> Check:
    """What waits for targets, and what was given up."""
    targets = asked(told.api.host, told.api.port, "/api/v1/deliveries?limit=1", lambda r: list(r.json()["targets"]))
    if targets is None:
        return Check("deliveries", State.WARN, "the API does not tell; with a token it asks for it")
    troubles = [f"{each['name']}: {each['trouble']}" for each in targets if each["trouble"]]
    waiting, dead = (sum(each[name] for each in targets) for name in ("waiting", "dead"))
    text = "; ".join([f"{waiting} notices wait, {dead} are dead letters", *troubles])
    return Check("deliveries", State.WARN if troubles or dead else State.OK, text)


async def _target(target: Target) -> Check:
    name = f"target {target.job} {target.url}"
    dated: list[str] = []

    async def note(response: httpx.Response) -> None:
        dated.append(response.headers.get("date", ""))

    try:
        client = client_for(target)
        client.event_hooks = {"response": [note]}
        async with client:
            page = await fetch(client, target)
    except ScrapeError as error:
        return Check(name, State.FAIL, f"{error.kind}: {error}")
    text, skew = f"{len(page.content):,} bytes", _skew(dated[-1] if dated else "")
    if skew is not None and abs(skew) > SKEW_S:
        return Check(name, State.WARN, f"{text}; its clock is {skew:+.0f} s from ours: what it sends is joined wrongly")
    return Check(name, State.OK, text)


def _skew(date: str) -> float | None:
    try:
        return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return None


def _answers(host: str, port: int) -> bool:
    return asked(host, port, "/healthz", lambda response: response.status_code == httpx.codes.OK) or False


def _not_running() -> Check:
    return Check("signals", State.OFF, "`tollens up` does not answer, so what arrives is not known")


def _seen(told: Settings, how_to_measure: Mapping[str, str]) -> Iterator[Check]:
    """Which canonical signals have data, and how to switch on those that have none."""
    seen = asked(told.api.host, told.api.port, "/api/v1/signals", lambda r: {s["name"] for s in r.json()["signals"]})
    if seen is None:
        yield Check("signals", State.WARN, "the API does not tell; with a token it asks for it")
        return
    yield Check("signals", State.OK if seen else State.WARN, f"{len(seen)} of {len(SIGNALS)} have data")
    for name in sorted(how_to_measure.keys() - seen):
        yield Check(f"signal {name}", State.OFF, how_to_measure[name])
