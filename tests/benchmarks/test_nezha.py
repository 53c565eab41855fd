"""The benchmark on Nezha reads CSV of its shape into OTLP, can score a hit and a miss, and is skipped without data."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from benchmarks import nezha
from benchmarks.nezha import Fault, batches, fault_free, faults, located, located_against, service_of, services
from benchmarks.rca import evidence_of, names
from correlator.model.findings import Finding, Verdict
from correlator.model.records import Signal
from tests.benchmarks.test_rca import run_on

GATE, QUICK, SLOW = "front-7d9f-aa1", "cart-5c6b-bb1", "cart-5c6b-bb2"
AT = "2024-03-05 10:00:04"
SPANS = [
    "TraceID",
    "SpanID",
    "ParentID",
    "PodName",
    "OperationName",
    "StartTimeUnixNano",
    "EndTimeUnixNano",
    "Duration",
]
LOGS = ["Timestamp", "TimeUnixNano", "Node", "PodName", "Container", "TraceID", "SpanID", "Log"]
USAGE = ["Time", "TimeStamp", "PodName", "CpuUsage(m)", "MemoryUsage(Mi)", "NodeCpuUsageRate(%)"]
MS = 10**6


def nano(text: str) -> int:
    """A written time (UTC) in Unix nanoseconds."""
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp()) * 10**9


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([header, *rows])


def trace(number: int, start: int, pod: str, query_ms: float) -> Iterator[tuple[object, ...]]:
    """A request: the front calls a pod of the cart, which asks its database."""
    trace_id, span = f"{number:032x}", iter(f"{number * 8 + i:016x}" for i in range(8))
    front, call, serve, query = next(span), next(span), next(span), next(span)
    shape = [
        (front, "root", GATE, "/*", 0, 12),
        (call, front, GATE, "HTTP GET", 1, 10),
        (serve, call, pod, "/cart", 2, 8),
        (query, serve, pod, "SELECT shop.cart", 4, 4),
    ]
    for span_id, parent, whose, name, begin, lasts in shape:
        first, last = start + begin * MS, start + int((begin + lasts + query_ms) * MS)
        yield trace_id, span_id, parent, whose, name, first, last, (last - first) // 1000


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three minutes in which the database of one pod of the cart is slow from the injection on."""
    folder = tmp_path_factory.mktemp("nezha") / "rca_data" / "2024-03-05"
    chance, begun = random.Random(1), nano(AT)
    for piece in range(3):
        start = nano("2024-03-05 09:59:08") + piece * 60 * 10**9
        spans, logs = [], []
        for i in range(240):
            at, pod = start + i * 250 * MS, SLOW if i % 3 == 0 else QUICK
            ms = chance.uniform(40, 60) + (chance.uniform(300, 500) if pod == SLOW and at >= begun else 0)
            rows = list(trace(piece * 1000 + i + 1, at, pod, ms))
            spans += rows
            level = "ERROR" if i == 0 else "INFO"
            text = json.dumps({"log": f"18:00:00.000 {level}  shop.Cart#7 cart read\n", "stream": "stdout"})
            logs.append((AT, at, "10.0.0.1", pod, "server", rows[2][0], rows[2][1], text))
        write(folder / "trace" / f"10_0{piece}_trace.csv", SPANS, [*spans, spans[0]])
        write(folder / "log" / f"10_0{piece}_log.csv", LOGS, logs)
    usage = [(AT, begun // 10**9 + minute * 60, QUICK, 250, 100, 30) for minute in range(-5, 6)]
    write(folder / "metric" / f"{QUICK}_metric.csv", USAGE, usage)
    told = {"inject_time": AT, "inject_timestamp": "1", "inject_pod": SLOW, "inject_type": "delay"}
    (folder / "2024-03-05-fault_list.json").write_text(json.dumps({"10": [told]}), encoding="utf-8")
    normal, start = folder.parents[1] / "construct_data" / "2024-03-05", nano("2024-03-05 12:00:00")
    pods = [(SLOW if i % 3 == 0 else QUICK, start + i * 250 * MS) for i in range(480)]
    spans = [row for i, (pod, at) in enumerate(pods) for row in trace(9000 + i, at, pod, chance.uniform(40, 60))]
    write(normal / "trace" / "12_00_trace.csv", SPANS, spans)
    quiet = json.dumps({"log": "20:00:00.000 INFO  shop.Cart#7 cart read\n", "stream": "stdout"})
    rows = [(AT, at, "10.0.0.1", pod, "server", f"{9000:032x}", f"{72002:016x}", quiet) for pod, at in pods]
    write(normal / "log" / "12_00_log.csv", LOGS, rows)
    return folder


@pytest.fixture(scope="module")
def telemetry(day: Path) -> dict[Signal, bytes]:
    """The fault's OTLP by signal."""
    return {batch.signal: batch.payload for batch in batches(day, faults(day)[0])}


def test_the_written_time_counts(day: Path) -> None:
    """Faults are at their written time, whatever number stands beside it, and name the three pieces from there on."""
    [fault] = faults(day)
    assert (nano(AT), ["10_00", "10_01", "10_02"]) == (fault.windows[1].start, fault.minutes)


def test_spans_have_the_kind_that_their_place_tells(telemetry: dict[Signal, bytes]) -> None:
    """Entries of a pod are servers, what calls another pod or a database is a client; doubled rows come once."""
    request = ExportTraceServiceRequest.FromString(telemetry[Signal.TRACES])
    spans = [span for resource in request.resource_spans for span in resource.scope_spans[0].spans]
    kinds = {(span.name, span.kind) for span in spans}
    assert 3 * 240 * 4 == len(spans)
    assert {
        ("/*", Span.SPAN_KIND_SERVER),
        ("HTTP GET", Span.SPAN_KIND_CLIENT),
        ("/cart", Span.SPAN_KIND_SERVER),
        ("SELECT shop.cart", Span.SPAN_KIND_CLIENT),
    } == kinds


def test_resources_name_service_pod_and_node(telemetry: dict[Signal, bytes]) -> None:
    """A pod's name tells its service, its logs tell its node."""
    request = ExportTraceServiceRequest.FromString(telemetry[Signal.TRACES])
    told = [{a.key: a.value.string_value for a in each.resource.attributes} for each in request.resource_spans]
    assert {"service.name": "cart", "k8s.pod.name": SLOW, "k8s.node.name": "10.0.0.1"} in told
    assert {"service.name": "front", "k8s.pod.name": GATE} in told


def test_logs_keep_level_text_and_trace(telemetry: dict[Signal, bytes]) -> None:
    """A log line is unwrapped and stays tied to its span."""
    request = ExportLogsServiceRequest.FromString(telemetry[Signal.LOGS])
    records = [record for resource in request.resource_logs for record in resource.scope_logs[0].log_records]
    errors = [record for record in records if record.severity_text == "ERROR"]
    assert (720, 3, 17) == (len(records), len(errors), errors[0].severity_number)
    assert "18:00:00.000 ERROR  shop.Cart#7 cart read" == errors[0].body.string_value
    assert (f"{1:032x}", f"{10:016x}") == (errors[0].trace_id.hex(), errors[0].span_id.hex())


def test_metrics_are_in_the_units_of_the_conventions(telemetry: dict[Signal, bytes]) -> None:
    """Cores, bytes and idle share, of the fault's minutes only."""
    request = ExportMetricsServiceRequest.FromString(telemetry[Signal.METRICS])
    found = {metric.name: metric.gauge.data_points for metric in request.resource_metrics[0].scope_metrics[0].metrics}
    values = {name: points[0].as_double for name, points in found.items()}
    assert (
        pytest.approx({"k8s.pod.cpu.usage": 0.25, "k8s.pod.memory.usage": 104857600.0, "system.cpu.utilization": 0.7})
        == values
    )
    assert [6, 6, 6] == [len(points) for points in found.values()]


def test_a_slow_pod_is_a_hit(day: Path) -> None:
    """Where one pod of several is slow and the scope says so, the benchmark counts it."""
    [fault] = faults(day)
    evidence = evidence_of(batches(day, fault))
    against = located_against(evidence_of(fault_free(day.parents[1])), evidence, fault)
    for answer in (located(evidence, fault), against):
        assert ("dependency_slow", True, True) == (answer.first, answer.scoped, answer.named)
        assert SLOW == answer.scope["k8s.pod.name"]


def test_an_innocent_is_a_miss(day: Path) -> None:
    """The same answer does not name another culprit."""
    [fault] = faults(day)
    answer = located(evidence_of(batches(day, fault)), Fault(GATE, fault.kind, fault.at))
    assert (False, False) == (answer.scoped, answer.named)


def test_only_services_with_spans_are_candidates(day: Path) -> None:
    """Chance is one in the services that could be named."""
    assert {"front", "cart"} == services(day)
    assert "station-food" == service_of("station-food-5c6b-bb1")


def test_part_of_a_name_is_not_the_name() -> None:
    """A service is named as a whole word, not as a part of another's name."""
    finding = Finding("x", "claim", Verdict.SUPPORTED, 0.5, reason="ts-order-other is slow")
    assert (False, True) == (names(finding, "ts-order"), names(finding, "ts-order-other"))


def test_the_figures_stand_beside_chance(
    day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints the share of culprits in scope with the chance line."""
    run_on(nezha, day.parents[1], ".", tmp_path, monkeypatch)
    expected = "culprit in the first finding's scope: 1 of 1 = 1.00 (by chance 0.50, 1 in 2; published 0.87)"
    assert 2 == capsys.readouterr().out.count(expected)
