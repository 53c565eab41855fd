"""What this process says of itself on `/metrics`: the state of each part, asked when somebody looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from collector.forward import ForwarderState
from collector.gpu_dcgm import DcgmState
from collector.gpu_nvml import GpuState
from collector.prometheus_scrape import ScraperState
from collector.spool import Limits, SpoolState

Metrics = Iterator[Metric]

_SCRAPE = {
    "scrapes": "Scrapes made.",
    "samples": "Samples taken.",
    "faulty_lines": "Lines of pages that could not be read.",
    "skipped_scrapes": "Scrapes left out because the one before took too long.",
    "refused_requests": "Requests that the spool refused.",
    "stale_series": "Series that ended.",
}
_OUTBOX = {
    "requests": "Requests given to the spool.",
    "refused_requests": "Requests that the spool refused.",
    "dropped_events": "Events lost because too many waited for the spool.",
    "unconfirmed_requests": "Requests not given because the spool confirmed nothing for too long.",
}
_NVML = _OUTBOX | {
    "samples": "Samples taken.",
    "skipped_samples": "Samples left out because the one before took too long.",
    "xids": "Xid errors told.",
    "xid_storms": "Times that further Xid errors were not told because there were too many.",
    "xid_failures": "Times that waiting for Xid errors failed.",
    "faults": "GPUs that were lost or need a reset.",
    "reopened": "Times that NVML was opened anew.",
    "internal_errors": "Errors that nobody had expected.",
}
_DCGM = _OUTBOX | {
    "starts": "Runs of dcgmi.",
    "rows": "Rows read.",
    "faults": "Lines and cells that were not as expected.",
}
_FORWARD = {
    "segments": "Segments forwarded and removed.",
    "requests": "Requests of senders that the other side has acknowledged.",
    "posts": "Requests to the other side that it has acknowledged; in one go several from senders.",
    "sent_bytes": "Bytes of those as sent.",
    "retries": "Requests not taken, to be sent again.",
    "quarantined_requests": "Requests refused for good and kept in quarantine.",
    "discarded_requests": "Requests refused for good and lost because quarantine was full.",
    "rejected_records": "Records rejected by the other side from requests that it acknowledged.",
    "lost_bytes": "Bytes of segments that were damaged on disk.",
    "unreadable_segments": "Segments that could not be read, and are tried again.",
    "internal_errors": "Errors that nobody had expected.",
}


class Asked(Collector):
    """Metrics that a function gives whenever they are asked for."""

    def __init__(self, metrics: Callable[[], Iterable[Metric]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """All of them, as they are now."""
        return self._metrics()

    def describe(self) -> Iterable[Metric]:
        """None: so that registering asks nothing of a part that has not started."""
        return ()


class Totals:
    """Adds up counts of things that come, go and begin anew, so that the sum never falls."""

    def __init__(self) -> None:
        self._gone: Counter[str] = Counter()
        self._seen: dict[Hashable, Counter[str]] = {}

    def of(self, counts: Iterable[tuple[Hashable, Mapping[str, int]]]) -> Counter[str]:
        """The sum over all that there is now, by name, and over all that was there before."""
        now: dict[Hashable, Counter[str]] = {}
        for name, count in counts:
            now.setdefault(name, Counter()).update(count)
        for name, before in self._seen.items():
            if any(now.get(name, Counter())[key] < value for key, value in before.items()):
                self._gone.update(before)
        self._seen = now
        return sum(now.values(), Counter(self._gone))


def spool_metrics(state: SpoolState, limits: Limits) -> Metrics:
    """The spool, each amount beside its limit."""
    yield GaugeMetricFamily("tollens_spool_bytes", "Bytes of the segments on disk.", state.bytes)
    yield GaugeMetricFamily("tollens_spool_limit_bytes", "Bytes from which on it is full.", limits.capacity_bytes)
    yield GaugeMetricFamily("tollens_spool_waiting_bytes", "Bytes that wait for the disk.", state.waiting_bytes)
    yield GaugeMetricFamily("tollens_spool_waiting_limit_bytes", "Most that may wait.", limits.waiting_bytes)
    yield GaugeMetricFamily("tollens_spool_segments", "Segments on disk.", state.segments)
    yield GaugeMetricFamily("tollens_spool_oldest_age_seconds", "Age of the oldest segment.", state.oldest_age_s)
    yield GaugeMetricFamily("tollens_spool_age_limit_seconds", "Age from which on it refuses.", limits.age_s)
    yield GaugeMetricFamily("tollens_spool_trouble", "1 when the last write failed.", float(state.trouble is not None))
    yield CounterMetricFamily("tollens_spool_appended_requests", "Requests kept.", value=state.appended)
    yield CounterMetricFamily("tollens_spool_appended_bytes", "Bytes of requests kept.", value=state.appended_bytes)
    yield CounterMetricFamily("tollens_spool_fsyncs", "Flushes of the disk.", value=state.fsyncs)
    yield CounterMetricFamily(
        "tollens_spool_recovered_cut_bytes",
        "Bytes never acknowledged, cut off at the start.",
        value=state.recovered_cut_bytes,
    )
    refused = CounterMetricFamily("tollens_spool_refused_requests", "Requests refused.", labels=["reason"])
    for reason, count in state.refused.items():
        refused.add_metric([reason], count)
    yield refused


def scrape_metrics(state: ScraperState, most_targets: int, totals: Totals) -> Metrics:
    """The scraper: targets by state, and counts over all targets."""
    targets = GaugeMetricFamily("tollens_scrape_targets", "Targets by the result of the last scrape.", labels=["state"])
    states = Counter("unknown" if target.up is None else "up" if target.up else "down" for target in state.targets)
    for name in ("up", "down", "unknown"):
        targets.add_metric([name], states[name])
    yield targets
    yield GaugeMetricFamily("tollens_scrape_targets_limit", "Most targets that are scraped.", most_targets)
    yield GaugeMetricFamily("tollens_scrape_problems", "Sources of targets that cannot be used.", len(state.problems))
    yield GaugeMetricFamily("tollens_scrape_running", "1 while the scraper runs.", float(state.running))
    counts = totals.of(((target.job, target.url), target.counts) for target in state.targets)
    failed = CounterMetricFamily("tollens_scrape_failed", "Scrapes that failed.", labels=["kind"])
    for kind in [key for key in counts if key.startswith("failed.")]:
        failed.add_metric([kind.removeprefix("failed.")], counts.pop(kind))
    yield failed
    yield from _counters("scrape", _SCRAPE, counts)


def gpu_metrics(state: GpuState, totals: Totals) -> Metrics:
    """The NVML sampler. `available` is left out until it is known."""
    yield from _available("gpu", "NVML", state.available)
    yield GaugeMetricFamily("tollens_gpu_devices", "GPUs and MIG devices sampled.", len(state.devices))
    yield GaugeMetricFamily("tollens_gpu_given_up_devices", "GPUs that do not answer.", len(state.given_up))
    missing = Counter(name for device in state.devices for name in device.missing)
    gauge = GaugeMetricFamily("tollens_gpu_missing_readings", "Devices without this reading.", labels=["reading"])
    for name, count in missing.items():
        gauge.add_metric([name], count)
    yield gauge
    errors = CounterMetricFamily("tollens_gpu_reading_errors", "Readings that failed.", labels=["reading"])
    for name, count in totals.of((str(device.resource), device.errors) for device in state.devices).items():
        errors.add_metric([name], count)
    yield errors
    yield from _counters("gpu", _NVML, state.counts)


def dcgm_metrics(state: DcgmState) -> Metrics:
    """The sampler that runs dcgmi. `available` is left out until it is known."""
    yield from _available("gpu_dcgm", "DCGM", state.available)
    yield GaugeMetricFamily("tollens_gpu_dcgm_profiling", "1 when profiling fields are read.", float(state.profiling))
    yield from _counters("gpu_dcgm", _DCGM, state.counts)


def forward_metrics(state: ForwarderState) -> Metrics:
    """The forwarder."""
    held_up = float(state.trouble is not None)
    yield GaugeMetricFamily("tollens_forward_trouble", "1 when the last request was not taken.", held_up)
    yield from _counters("forward", _FORWARD, state.counts)


def _available(part: str, library: str, available: bool | None) -> Metrics:
    gauge = GaugeMetricFamily(f"tollens_{part}_available", f"1 when {library} gives readings, 0 when it does not.")
    if available is not None:
        gauge.add_metric([], float(available))
    yield gauge


def _counters(part: str, known: Mapping[str, str], counts: Mapping[str, int]) -> Metrics:
    """A counter for each count, those that are still 0 included."""
    for name in dict.fromkeys((*known, *counts)):
        text = known.get(name, f"Count of {name}.")
        yield CounterMetricFamily(f"tollens_{part}_{name.replace('.', '_')}", text, value=counts.get(name, 0))
