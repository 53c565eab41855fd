"""The correlator process: segments of the spool → store, watcher, API. `tollens up` starts it beside the collector.

One line of JSON on standard output says that it is ready and where it listens.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import uvicorn

from correlator.api import Options, Services, create_app
from correlator.api.reading import held, signals, trace
from correlator.chores import Chore
from correlator.join.build import build
from correlator.model.evidence import Evidence, Kind, Windows, with_windows
from correlator.model.listening import listening
from correlator.own_metrics import registry_of
from correlator.settings import RetentionSettings, Settings, token
from correlator.store import Store
from correlator.store.incidents import Incidents
from correlator.store.retention import expire
from correlator.store.spooled import load_ready
from correlator.watch.loop import Watcher, watch
from correlator.wiring import diagnosed, hypotheses

LOAD_S = 2.0
"""Between two looks for sealed segments: what comes in two seconds goes into the tables together."""
RETENTION_S = 300.0
SIGNALS_S = 15.0
"""`GET signals` joins ten minutes of telemetry: at most that often."""
GRACE_S = 20
LOG = logging.getLogger(__name__)


def serve(settings: Settings, spool: Path) -> None:
    """Serve until SIGTERM or SIGINT, then load what is sealed and close. ConfigError when it cannot listen."""
    with ExitStack() as closing:
        store = closing.enter_context(Store.open(settings.folder / "store"))
        loading = Chore("loading", LOAD_S, lambda counts: _load(store, spool, counts))
        retention = Chore("retention", RETENTION_S, lambda counts: _expire(store, settings.retention, counts))
        incidents = Incidents(store)
        watcher = _watcher(settings, store, incidents)
        options = Options(
            token=token(settings.api.token_file) if settings.api.token_file else None,
            cors=settings.api.cors,
            registry=registry_of([loading, retention], watcher.counts),
            diagnoses=settings.api.diagnoses,
        )
        app = create_app(services(store, incidents, loading), options)
        socket_ = closing.enter_context(listening("the API", settings.api.host, settings.api.port))
        stopped = threading.Event()
        threads = [chore.start(stopped) for chore in (loading, retention)]
        if settings.watch.enabled:
            threads.append(threading.Thread(target=watch, args=(watcher, stopped.wait), name="watch", daemon=True))
            threads[-1].start()
        serving = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE_S)
        _Server(serving).run(sockets=[socket_])
        stopped.set()
        for thread in threads:
            thread.join(GRACE_S)
        loading.once()


class _Server(uvicorn.Server):
    """Says when it is ready."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where."""
        await super().startup(sockets)
        if self.started and sockets:
            print(json.dumps({"ready": True, "api_port": sockets[0].getsockname()[1]}), flush=True)


def _load(store: Store, spool: Path, counts: Counter[str]) -> None:
    for loaded in load_ready(store, spool):
        counts["segments"] += loaded.segments
        counts[f"requests_{loaded.signal}"] += loaded.requests
        counts["quarantined"] += loaded.quarantined
        counts["discarded"] += loaded.discarded
        counts["lost_bytes"] += loaded.lost_bytes
        for problem in loaded.problems:
            LOG.warning("%s", problem)


def _expire(store: Store, limits: RetentionSettings, counts: Counter[str]) -> None:
    left = expire(store, limits.max_age_days, limits.max_bytes)
    counts["days_dropped"] += len(left.dropped)
    if left.dropped:
        LOG.info("dropped %s; %d bytes are left", ", ".join(map(str, left.dropped)), left.bytes)


def services(store: Store, incidents: Incidents, loading: Chore) -> Services:
    """What the API asks, over a store; it is ready while loading goes well."""

    def ready() -> str | None:
        return "telemetry is not loaded; the log says why" if loading.trouble is not None else None

    return Services(
        diagnose=lambda asked: diagnosed(store, asked.windows, asked.symptom, asked.where),
        list_incidents=incidents.find,
        get_incident=incidents.get,
        trace=lambda id_: trace(store, id_),
        hypotheses=hypotheses,
        signals=held(lambda: signals(store), SIGNALS_S),
        ready=ready,
    )


def _watcher(settings: Settings, store: Store, incidents: Incidents) -> Watcher:
    def evidence(windows: Windows) -> Evidence:
        return with_windows(build(store, within=windows).evidence, windows)

    def diagnose(windows: Windows, kind: Kind, where: str) -> dict[str, object]:
        return diagnosed(store, windows, kind, where)

    return Watcher(settings.watch, evidence, diagnose, incidents.live, incidents.save)
