"""What the correlator tells about itself on `/metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import GCCollector, Metric, PlatformCollector, ProcessCollector
from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from correlator.chores import Chore


def register(registry: CollectorRegistry, chores: Sequence[Chore], watched: Counter[str]) -> CollectorRegistry:
    """The registry, which now tells of the chores, the watcher's counts and this process."""
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    registry.register(_Chores(chores))
    registry.register(_Counts("tollens_watch", "What the watcher did", watched))
    return registry


class _Chores(Collector):
    def __init__(self, chores: Sequence[Chore]) -> None:
        self._chores = chores

    def collect(self) -> Iterator[Metric]:
        """For prometheus-client."""
        well = GaugeMetricFamily("tollens_chore_well", "1 where it succeeded last", labels=["chore"])
        for chore in self._chores:
            well.add_metric([chore.name], float(chore.trouble is None))
            yield from _told(f"tollens_{chore.name}", f"What {chore.name} did", chore.counts)
        yield well


class _Counts(Collector):
    def __init__(self, name: str, text: str, counts: Counter[str]) -> None:
        self._name, self._text, self._counts = name, text, counts

    def collect(self) -> Iterator[Metric]:
        """For prometheus-client."""
        yield from _told(self._name, self._text, self._counts)


def _told(name: str, text: str, counts: Mapping[str, int]) -> Iterator[Metric]:
    """One counter with the label `what`: the names are the code's own, so there are only so many."""
    family = CounterMetricFamily(name, text, labels=["what"])
    for what, count in sorted(dict(counts).items()):
        family.add_metric([what], count)
    yield family
