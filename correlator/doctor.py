"""`tollens doctor`: would it run here, and what would it see? Checks say what they looked at and change nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import httpx
from rich.console import Console

from collector import settings as collecting
from collector.gpu.nvml import NVMLError, nvml
from collector.scraping.fetch import ScrapeError, client_for, fetch
from collector.scraping.targets import Discovery, Target
from collector.settings import CollectorSettings
from correlator import settings as correlating
from correlator.model.errors import ConfigError
from correlator.model.listening import listening
from correlator.model.names import SIGNALS
from correlator.settings import Settings
from correlator.store import Store
from correlator.store.engine import StoreError

SKEW_S = 2.0
"""A Date header has whole seconds and travels: less cannot be told."""
ASK_S = 3.0
T = TypeVar("T")


class State(StrEnum):
    """`off` is a part that this machine lacks: what it would have seen stays unknown."""

    OK = "ok"
    OFF = "off"
    WARN = "warn"
    FAIL = "fail"


_STYLES = {State.OK: "green", State.OFF: "dim", State.WARN: "yellow", State.FAIL: "red"}


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, and what that means."""

    name: str
    state: State
    text: str


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
    yield _engine()
    yield _gpu(taking)
    yield from _targets(taking)
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
    return _get(host, port, "/healthz", lambda response: response.status_code == httpx.codes.OK) or False


def _not_running() -> Check:
    return Check("signals", State.OFF, "`tollens up` does not answer, so what arrives is not known")


def _seen(told: Settings, how_to_measure: Mapping[str, str]) -> Iterator[Check]:
    """Which canonical signals have data, and how to switch on those that have none."""
    seen = _get(told.api.host, told.api.port, "/api/v1/signals", lambda r: {s["name"] for s in r.json()["signals"]})
    if seen is None:
        yield Check("signals", State.WARN, "the API does not tell; with a token it asks for it")
        return
    yield Check("signals", State.OK if seen else State.WARN, f"{len(seen)} of {len(SIGNALS)} have data")
    for name in sorted(how_to_measure.keys() - seen):
        yield Check(f"signal {name}", State.OFF, how_to_measure[name])


def _get(host: str, port: int, path: str, read: Callable[[httpx.Response], T]) -> T | None:
    try:
        return read(httpx.get(f"http://{host}:{port}{path}", timeout=ASK_S, trust_env=False))
    except (httpx.HTTPError, KeyError, ValueError):
        return None
