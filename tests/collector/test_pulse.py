"""The collector's beat: that it is there, what it took and refused; what one beat could not tell the next one tells."""

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client import CollectorRegistry

from collector.pulse import Key, Pulse, intake_counts, resource
from collector.receiving.metrics import NO_SIGNAL, Metrics
from collector.sink import Full
from correlator.model.pulse import ACCEPTED, COLLECTOR, HEARTBEAT, RECORDS, REFUSED, REJECTED
from correlator.model.records import Signal
from tests.collector.collector_process import collector, request
from tests.collector.spooling import spooled, wait_until
from tests.collector.telemetry import span, spans

TRACES = (("signal", "traces"),)
WHO = {"service.name": COLLECTOR, "service.instance.id": "a"}


class Sink:
    """Keeps beats, or refuses the next `refusing` of them."""

    def __init__(self, refusing: int = 0) -> None:
        self.refusing = refusing
        self.got: list[bytes] = []
        self.came = threading.Condition()

    def put(self, signal: Signal, payload: bytes) -> "Future[None]":
        with self.came:
            self.refusing -= 1
            self.came.notify_all()
            if self.refusing >= 0:
                raise Full("full")
            self.got.append(payload)
        kept: Future[None] = Future()
        kept.set_result(None)
        return kept


def told(payload: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], int]:
    """What a beat says: metric and labels → value."""
    scopes = [s for r in ExportMetricsServiceRequest.FromString(payload).resource_metrics for s in r.scope_metrics]
    return {
        (metric.name, tuple((a.key, a.value.string_value) for a in point.attributes)): point.as_int
        for scope in scopes
        for metric in scope.metrics
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    }


def beats(data: Path) -> list[dict[tuple[str, tuple[tuple[str, str], ...]], int]]:
    """All beats in a spool."""
    found = [told(payload) for signal, payload in spooled(data / "spool") if signal is Signal.METRICS]
    return [each for each in found if (HEARTBEAT, ()) in each]


def counted(by_time: list[Mapping[Key, int]], sink: Sink) -> list[bytes]:
    """The beats of a pulse whose counts are these, one after the other."""
    times = iter(range(100, 1_000, 100))
    left = iter(by_time)
    over = threading.Event()

    def counts() -> Mapping[Key, int]:
        found = next(left, None)
        if found is None:
            over.set()
        return found or by_time[-1]

    pulse = Pulse(sink, WHO, counts, lambda: next(times), every_s=0.01)
    pulse.start()
    assert over.wait(10)
    pulse.stop()
    return sink.got[: len(by_time)]


def test_a_beat_tells_what_has_grown() -> None:
    """Increments since the beat before, with both times; what has not grown is left out, but for what was taken."""
    key: Key = (REFUSED, TRACES)
    first, second, third = map(told, counted([{key: 2}, {key: 5}, {key: 5}], Sink()))
    assert {(HEARTBEAT, ()): 1, key: 2} == first
    assert {(HEARTBEAT, ()): 1, key: 3} == second
    assert {(HEARTBEAT, ()): 1} == third


def test_what_a_refused_beat_told_the_next_one_tells() -> None:
    """Of three beats the spool has no room for two: the third counts for all, since the last one that was kept."""
    key: Key = (REFUSED, TRACES)
    sink = Sink(refusing=2)
    (kept, *_) = counted([{key: 2}, {key: 5}, {key: 9}], sink)
    assert 9 == told(kept)[key]
    (point,) = (
        ExportMetricsServiceRequest.FromString(kept).resource_metrics[0].scope_metrics[0].metrics[1].sum.data_points
    )
    assert (100, 400) == (point.start_time_unix_nano, point.time_unix_nano)


class Asked(Future[None]):
    """A future that knows how often somebody waited for it."""

    times = 0

    def result(self, timeout: float | None = None) -> None:
        self.times += 1
        return super().result(timeout)


def test_a_beat_that_waits_long_for_the_disk_is_not_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it told may be on disk yet: the next one comes when that is known, and tells only what has grown since."""
    monkeypatch.setattr("collector.pulse.KEPT_S", 0.01)
    key: Key = (REFUSED, TRACES)
    kept = Asked()
    sink = Sink()
    sink.put = lambda signal, payload: (sink.got.append(payload), kept)[1]  # type: ignore[method-assign]
    pulse = Pulse(sink, WHO, lambda: {key: 2 + 3 * (len(sink.got) > 0)}, every_s=0.01)
    pulse.start()
    wait_until(lambda: kept.times >= 3)
    kept.set_result(None)
    wait_until(lambda: len(sink.got) >= 3)
    pulse.stop()
    assert [2, 3, None] == [told(payload).get(key) for payload in sink.got[:3]]


def test_a_clock_that_is_set_back_gives_no_beat_that_ends_before_it_begins() -> None:
    """Both times of a beat are the new one's, and nothing is told less or twice."""
    key: Key = (REFUSED, TRACES)
    times = iter([900, 900, *range(100, 1_000)])
    left = iter([2, 5])
    sink = Sink()
    pulse = Pulse(sink, WHO, lambda: {key: next(left, 9)}, lambda: next(times), every_s=0.01)
    pulse.start()
    wait_until(lambda: len(sink.got) >= 2)
    pulse.stop()
    found = ExportMetricsServiceRequest.FromString(sink.got[1]).resource_metrics[0].scope_metrics[0].metrics[1]
    (point,) = found.sum.data_points
    assert (100, 100, 3) == (point.start_time_unix_nano, point.time_unix_nano, point.as_int)


def test_what_the_receivers_counted_is_told_by_signal() -> None:
    """Requests taken are those begun without those refused; what names no signal need not have been telemetry."""
    metrics = Metrics.on(CollectorRegistry(), lambda: 0, lambda: 0)
    for protocol in ("grpc", "http"):
        metrics.requests.labels(protocol, "traces").inc(5)
        metrics.records.labels(protocol, "traces").inc(400)
    metrics.refused.labels("http", "traces", "full").inc()
    metrics.refused.labels("http", "traces", "malformed").inc(2)
    metrics.refused.labels("http", NO_SIGNAL, "unknown_path").inc(7)
    metrics.rejected.labels("http", "traces").inc(3)
    found = {key: count for key, count in intake_counts(metrics).items() if count}
    assert {
        (ACCEPTED, TRACES): 7,
        (RECORDS, TRACES): 800,
        (REJECTED, TRACES): 3,
        (REFUSED, (*TRACES, ("reason", "full"), ("final", "false"))): 1,
        (REFUSED, (*TRACES, ("reason", "malformed"), ("final", "true"))): 2,
    } == found


def test_a_collector_stays_who_it_is(tmp_path: Path) -> None:
    """The same spool is the same collector after a restart; another spool is another one."""
    assert resource(tmp_path / "a") == resource(tmp_path / "b" / ".." / "a")
    assert resource(tmp_path / "a") != resource(tmp_path / "b")


def test_a_real_collector_beats_from_start_to_stop(tmp_path: Path) -> None:
    """At once, and at the end with all that it took and refused in between."""
    with collector(tmp_path) as running:
        wait_until(lambda: running.metrics()["tollens_spool_appended_requests_total"] >= 1)
        assert 200 == running.post(request(1)).status_code
        assert 200 == running.post(spans(span(), span(trace_id=b""))).status_code
        assert 400 == running.post(b"nonsense").status_code
        assert 0 == running.stop()
    first, *_, last = beats(tmp_path)
    assert {(HEARTBEAT, ()): 1} == {key: count for key, count in first.items() if count}
    assert {
        (HEARTBEAT, ()): 1,
        (ACCEPTED, TRACES): 2,
        (RECORDS, TRACES): 2,
        (REJECTED, TRACES): 1,
        (REFUSED, (*TRACES, ("reason", "malformed"), ("final", "true"))): 1,
    } == {key: count for key, count in last.items() if count}
