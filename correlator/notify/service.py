"""Telling targets of incidents, put together: what is announced, what is kept, what is delivered, and how that goes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from correlator.chores import Chore
from correlator.model.errors import ConfigError
from correlator.model.incidents import Incident
from correlator.notify.announce import announce
from correlator.notify.line import Target
from correlator.notify.outbox import Bounds, Outbox
from correlator.notify.sending import Notifier
from correlator.notify.settings import NotifySettings

ANNOUNCE_S = 2.0
"""Between two looks for incidents of which targets do not know."""


@dataclass(frozen=True, slots=True)
class Notifying:
    """`announcing` is for whoever runs chores; the rest runs from `start` to `stop`."""

    outbox: Outbox
    notifier: Notifier
    announcing: Chore

    def start(self) -> None:
        """Begin to deliver."""
        self.notifier.start()

    def stop(self) -> None:
        """End; what was not taken stays on disk."""
        self.notifier.stop()
        self.outbox.close()


def notifying(
    settings: NotifySettings,
    folder: Path,
    targets: Sequence[Target],
    live: Callable[[int, int], Sequence[Incident]],
    get: Callable[[str], Incident | None],
) -> Notifying:
    """All parts, over the incidents of a store. ConfigError when there is no outbox to be had."""
    try:
        outbox = Outbox(folder, Bounds(notices=settings.notices, bytes=settings.bytes))
    except OSError as error:
        raise ConfigError(f"exporters: the outbox cannot be opened: {error}") from None
    names = [target.name for target in targets]

    def look(counts: Counter[str]) -> None:
        counts["notices"] += announce(outbox, names, live, get, settings.public_url, time.time_ns())

    return Notifying(outbox, Notifier(outbox, targets), Chore("announcing", ANNOUNCE_S, look))


class Deliveries(Collector):
    """The metrics of deliveries, read when asked; targets and what happens to a notice are few words."""

    def __init__(self, notifying: Notifying) -> None:
        self._notifying = notifying

    def collect(self) -> Iterator[Metric]:
        """For prometheus-client."""
        done = CounterMetricFamily(
            "tollens_deliveries", "Notices, and failed attempts, by what happened", labels=["target", "what"]
        )
        for (target, what), count in sorted(dict(self._notifying.outbox.counts).items()):
            done.add_metric([target, what], count)
        yield done
        kept = GaugeMetricFamily("tollens_outbox_notices", "Notices kept", labels=["target", "state"])
        size = GaugeMetricFamily("tollens_outbox_bytes", "Bytes of the notices kept", labels=["target"])
        well = GaugeMetricFamily("tollens_target_well", "1 unless the latest attempt failed", labels=["target"])
        for state in self._notifying.notifier.states():
            kept.add_metric([state.name, "waiting"], state.waiting)
            kept.add_metric([state.name, "dead"], state.dead)
            size.add_metric([state.name], state.bytes)
            well.add_metric([state.name], float(state.trouble is None))
        yield from (kept, size, well)
