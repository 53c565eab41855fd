"""The correlator process: segments of the spool → store, watcher, API. `tollens up` starts it beside the collector.

One line of JSON on standard output says that it is ready and where it listens.
"""

from __future__ import annotations

import json
import logging
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import uvicorn
from prometheus_client import CollectorRegistry

from correlator.api import Options, Services, create_app
from correlator.api.reading import Held, connections, signals, trace
from correlator.api.services import Outgoing
from correlator.chores import Chore
from correlator.incident_metrics import IncidentMetrics
from correlator.join.build import build
from correlator.join.connect import CONNECT, Groups
from correlator.join.labelled import service_of
from correlator.model.alerts import Alert, Outcome, Taken
from correlator.model.clock import Clock, Now
from correlator.model.evidence import Evidence, Kind, Windows, with_windows
from correlator.model.listening import listening
from correlator.model.segments import waiting_since
from correlator.model.telemetry import Spans, start, untraced
from correlator.notify.service import Deliveries, Notifying, notifying
from correlator.own_metrics import register
from correlator.settings import RetentionSettings, Settings, token
from correlator.store import Store
from correlator.store.incidents import Incidents
from correlator.store.priority import Background
from correlator.store.refusals import tell_refused
from correlator.store.retention import expire
from correlator.store.spooled import Loaded, load_ready
from correlator.watch.loop import Pause, Watcher, take, watch
from correlator.watch.moments import Moments
from correlator.wiring import diagnosed, hypotheses, targets

LOAD_S = 2.0
"""Between two looks for sealed segments: what comes in two seconds goes into the tables together."""
RETENTION_S = 300.0
SIGNALS_S = 15.0
"""`GET signals` joins ten minutes of telemetry: that often while somebody asks; an answer as old as four times that is
not given any more."""
GRACE_S = 20
SWITCH_S = 0.001
"""Who answers waits so long at most for each turn behind a thread that computes; Python's own 5 ms add up."""
LOG = logging.getLogger(__name__)


def serve(settings: Settings, spool: Path) -> None:
    """Serve until SIGTERM or SIGINT, then load what is sealed and close. ConfigError when it cannot listen."""
    sys.setswitchinterval(SWITCH_S)
    with ExitStack() as closing:
        store = closing.enter_context(Store.open(settings.folder / "store"))
        registry = CollectorRegistry()
        telemetry = start(settings.telemetry, "tollens-correlator", registry)
        closing.callback(telemetry.close)
        spans = telemetry.spans
        clock, background = Clock(), Background()
        loading = Chore("loading", LOAD_S, lambda counts: _load(store, spool, counts, spans, background))
        retention = Chore(
            "retention", RETENTION_S, lambda counts: _expire(store, settings.retention, clock.now(), counts)
        )
        incidents = Incidents(store)
        outbox, listed = settings.folder / "outbox", targets(settings.exporters)
        telling = notifying(settings.exporters, outbox, listed, incidents.live, incidents.get)
        registry.register(Deliveries(telling))
        watcher = _watcher(settings, store, incidents, spans)
        connect = settings.join.connect
        known = Held(lambda: signals(store, connect), 4 * SIGNALS_S)
        chores = [loading, retention, telling.announcing, Chore("signals", SIGNALS_S, lambda _: known.renew())]
        registry.register(IncidentMetrics(incidents.open, watcher.counts))
        options = Options(
            token=token(settings.api.token_file) if settings.api.token_file else None,
            cors=settings.api.cors,
            registry=register(registry, chores, watcher.counts),
            diagnoses=settings.api.diagnoses,
        )
        stopped = threading.Event()
        pause = Pause(stopped)
        taking = partial(_taken, watcher, pause)
        answers = services(store, incidents, loading, taking, spans, outgoing(telling), known, connect)
        app = create_app(answers, options)
        socket_ = closing.enter_context(listening("the API", settings.api.host, settings.api.port))
        threads = [chore.start(stopped) for chore in chores]
        telling.start()
        moments = Moments(settings.watch.shortest_s, settings.folder / "looked", partial(waiting_since, spool))
        threads.append(threading.Thread(target=watch, args=(watcher, pause, moments), name="watch", daemon=True))
        threads[-1].start()
        serving = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE_S)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # uvicorn raises it anew at its end, and there is more to do
        _Server(serving).run(sockets=[socket_])
        stopped.set()
        pause.over.set()
        for thread in threads:
            thread.join(GRACE_S)
        telling.stop()
        loading.once()


class _Server(uvicorn.Server):
    """Says when it is ready."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where."""
        await super().startup(sockets)
        if self.started and sockets:
            print(json.dumps({"ready": True, "api_port": sockets[0].getsockname()[1]}), flush=True)


def _load(store: Store, spool: Path, counts: Counter[str], spans: Spans, background: Background) -> None:
    """All that is sealed; a span for what goes in together."""
    background.lower()
    ready = load_ready(store, spool)
    while (loaded := _next(ready, spans)) is not None:
        counts["segments"] += loaded.segments
        counts[f"requests_{loaded.signal}"] += loaded.requests
        counts["quarantined"] += loaded.quarantined
        counts["discarded"] += loaded.discarded
        counts["lost_bytes"] += loaded.lost_bytes
        for problem in loaded.problems:
            LOG.warning("%s", problem)
        if lost := loaded.quarantined + loaded.discarded:
            tell_refused(store, loaded.signal, lost, time.time_ns())


def _next(ready: Iterator[Loaded], spans: Spans) -> Loaded | None:
    with spans("load") as told:
        loaded = next(ready, None)
        if loaded is not None:
            told |= {"tollens.signal": loaded.signal, "tollens.segments": loaded.segments}
            told |= {"tollens.requests": loaded.requests}
        return loaded


def _expire(store: Store, limits: RetentionSettings, now: Now, counts: Counter[str]) -> None:
    if now.jumped_s:
        counts["clock_jumped"] += 1
        LOG.warning(
            "the clock was set by %.0f s since the start; the less old is believed until a restart", now.jumped_s
        )
    left = expire(store, limits.max_age_days, limits.max_bytes, now)
    counts["days_dropped"] += len(left.dropped)
    if left.dropped:
        LOG.info("dropped %s; %d bytes are left", ", ".join(map(str, left.dropped)), left.bytes)


def _taken(watcher: Watcher, pause: Pause, alerts: Sequence[Alert]) -> Sequence[Taken]:
    """Take alerts in; what is new is diagnosed at once."""
    taken = take(watcher, alerts, time.time_ns())
    if any(one.outcome is Outcome.OPENED for one in taken):
        pause.over.set()
    return taken


def outgoing(telling: Notifying) -> Outgoing:
    """What the API asks of deliveries."""
    return Outgoing(telling.outbox.find, telling.notifier.states, telling.outbox.resend)


def services(
    store: Store,
    incidents: Incidents,
    loading: Chore,
    alerts: Callable[[Sequence[Alert]], Sequence[Taken]],
    spans: Spans = untraced,
    outgoing: Outgoing | None = None,
    known: Held[Sequence[Mapping[str, object]]] | None = None,
    connect: Groups = CONNECT,
) -> Services:
    """What the API asks, over a store; it is ready while loading goes well."""

    def ready() -> str | None:
        return "telemetry is not loaded; the log says why" if loading.trouble is not None else None

    return Services(
        diagnose=lambda asked: diagnosed(store, asked.windows, asked.symptom, asked.where, spans, connect),
        list_incidents=incidents.find,
        get_incident=incidents.get,
        trace=lambda id_: trace(store, id_),
        hypotheses=hypotheses,
        signals=known or Held(lambda: signals(store, connect), 4 * SIGNALS_S),
        connections=Held(lambda: connections(store, connect), SIGNALS_S),
        alerts=alerts,
        ready=ready,
        outgoing=outgoing or Outgoing(),
    )


def _watcher(settings: Settings, store: Store, incidents: Incidents, spans: Spans) -> Watcher:
    def evidence(windows: Windows) -> Evidence:
        return with_windows(build(store, within=windows, connect=settings.join.connect).evidence, windows)

    def diagnose(windows: Windows, kind: Kind | None, where: str) -> dict[str, object]:
        return diagnosed(store, windows, kind, where, spans, settings.join.connect)

    def place(alert: Alert) -> str | None:
        return service_of(store, alert.labels, alert.starts)

    told = settings.watch.looking_for
    return Watcher(told, evidence, diagnose, incidents.live, incidents.save, place, settings.alerts, spans=spans)
