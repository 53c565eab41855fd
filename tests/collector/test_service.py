"""The collector as a process: what it acknowledges is on disk, whatever sends, stops or kills it."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from correlator.model.records import Signal
from correlator.model.segments import segment_names
from tests.collector.collector_process import PATIENCE_S, Running, collector, command, names, refused, request
from tests.collector.pages import pages
from tests.collector.spooling import spooled, wait_until
from tests.collector.telemetry import SOUND, span, spans

SPANS = 300
KILLS, UNTIL_KILLED = 2, 50


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One collector for all tests that leave it as it is; its NVML sampler is on."""
    with collector(tmp_path_factory.mktemp("shared"), {"gpu": {"nvml": True}}) as running:
        yield running


def sent_by_sdk(exporter: SpanExporter, prefix: str) -> list[str]:
    """Make spans with the SDK; their names, all acknowledged."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=50))
    wanted = [f"{prefix}{number}" for number in range(SPANS)]
    for name in wanted:
        provider.get_tracer("test").start_span(name).end()
    assert provider.force_flush()
    provider.shutdown()
    return wanted


def scraped(data: Path) -> set[str]:
    """Names of all metrics in the spool."""
    requests = [ExportMetricsServiceRequest.FromString(p) for s, p in spooled(data / "spool") if s is Signal.METRICS]
    found = [scope for r in requests for resource in r.resource_metrics for scope in resource.scope_metrics]
    return {metric.name for scope in found for metric in scope.metrics}


def test_all_that_comes_in_is_on_disk_after_a_stop(tmp_path: Path) -> None:
    """Spans of SDKs over gRPC and HTTP are there once each, and so is a page that was scraped."""
    with pages("vllm:num_requests_running 3\n") as server:
        jobs = [{"name": "engine", "targets": [server.address], "interval_s": 0.2}]
        with collector(tmp_path, {"scrape": {"jobs": jobs}}) as running:
            wanted = sent_by_sdk(GrpcSpans(endpoint=running.grpc, insecure=True), "grpc-")
            wanted += sent_by_sdk(HttpSpans(endpoint=f"{running.http}/v1/traces"), "http-")
            wait_until(lambda: running.metrics()["tollens_scrape_samples_total"] >= 1)
            assert 0 == running.stop()
    assert sorted(wanted) == sorted(names(tmp_path))
    assert {"vllm:num_requests_running", "up"} <= scraped(tmp_path)
    assert [] == [str(name) for name in segment_names(tmp_path / "spool") if not name.sealed]


def until_killed(running: Running, numbers: "count[int]") -> list[str]:
    """Send one span after the other while the collector lives; those that were acknowledged."""
    acknowledged: list[str] = []
    with httpx.Client(verify=False, timeout=PATIENCE_S, headers={"Content-Type": "application/x-protobuf"}) as client:
        for number in numbers:
            try:
                response = client.post(f"{running.http}/v1/traces", content=request(number))
            except httpx.HTTPError:
                break
            if response.status_code == 200:
                acknowledged.append(f"{number}")
    return acknowledged


def test_a_killed_collector_has_lost_nothing_it_acknowledged(tmp_path: Path) -> None:
    """After SIGKILL under load and a new start, every acknowledged span is there, once."""
    acknowledged: list[str] = []
    numbers = count()
    for _ in range(KILLS):
        with collector(tmp_path) as running, ThreadPoolExecutor(4) as pool:
            sending = [pool.submit(until_killed, running, numbers) for _ in range(4)]
            wait_until(lambda: running.metrics()["tollens_spool_appended_requests_total"] >= UNTIL_KILLED)
            running.stop(signal.SIGKILL)
            acknowledged += [name for one in sending for name in one.result(PATIENCE_S)]
    with collector(tmp_path) as running:
        assert 0 == running.stop()
    found = names(tmp_path)
    assert len(acknowledged) > UNTIL_KILLED
    assert set() == set(acknowledged) - set(found)
    assert len(found) == len(set(found))


def hanging_request(running: Running, payload: bytes) -> socket.socket:
    """A request whose body is still to come; the collector has begun to answer it."""
    connection = socket.create_connection(("127.0.0.1", running.said["otlp_http_port"]), PATIENCE_S)
    head = (
        f"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\nContent-Length: {len(payload)}"
    )
    connection.sendall(head.encode() + b"\r\n\r\n")
    wait_until(lambda: running.metrics()["tollens_receiver_in_flight_requests"] == 1)
    return connection


def refuses_connections(running: Running) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", running.said["otlp_http_port"])) != 0


def test_a_stop_lets_requests_in_flight_end(tmp_path: Path) -> None:
    """What had begun before SIGTERM is acknowledged and kept, while nothing new is let in."""
    payload = request(7)
    with collector(tmp_path) as running, hanging_request(running, payload) as connection:
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: refuses_connections(running))
        connection.sendall(payload)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert 0 == running.process.wait(PATIENCE_S)
    assert ["7"] == names(tmp_path)


def test_the_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    """SIGINT stops gracefully; a second one does not wait for the request that hangs."""
    with collector(tmp_path) as running, hanging_request(running, request(7)):
        assert 200 == running.post(request(8)).status_code
        running.process.send_signal(signal.SIGINT)
        wait_until(lambda: refuses_connections(running))
        assert None is running.process.poll()
        assert -signal.SIGINT == running.stop(signal.SIGINT)
    assert ["8"] == names(tmp_path)


def test_its_own_metrics_tell_of_every_part(tmp_path: Path) -> None:
    """Spool, receivers, scraper and samplers say how they fare, with what limits them."""
    jobs = [{"name": "gone", "targets": ["127.0.0.1:1"], "interval_s": 0.2, "timeout_s": 10}]
    with collector(tmp_path, {"scrape": {"jobs": jobs}, "gpu": {"dcgmi": {"program": "no-such-dcgmi"}}}) as running:
        for signal_, payload in SOUND.items():
            assert 200 == running.post(payload, f"/v1/{signal_}").status_code
        wait_until(lambda: "tollens_gpu_available" in running.metrics())
        wait_until(lambda: "tollens_gpu_dcgm_available" in running.metrics())
        wait_until(lambda: running.metrics()["tollens_scrape_targets{down}"] == 1)
        found = running.metrics()
    assert found["tollens_spool_appended_requests_total"] >= 3
    assert 0 < found["tollens_spool_bytes"] < found["tollens_spool_limit_bytes"] == 4 * 2**30
    assert found["tollens_scrape_failed_total{connection}"] >= 1
    assert 0 == found["tollens_gpu_dcgm_available"]
    assert 1 == found["tollens_receiver_requests_total{http,traces}"]
    assert 0 == found["tollens_gpu_dropped_events_total"]


def test_a_full_spool_refuses_loudly_and_recovers(tmp_path: Path) -> None:
    """Without room the sender is told when to try again, and it is counted; with room all is well."""
    large = spans(span(name="x" * 600_000))
    with collector(tmp_path, {"spool": {"capacity_bytes": 1 << 20}}) as running:
        answers = [running.post(large) for _ in range(2)]
        assert [200, 503] == [answer.status_code for answer in answers]
        assert int(answers[1].headers["Retry-After"]) >= 1
        assert 503 == running.client.get(f"{running.http}/readyz").status_code
        assert 1 == running.metrics()["tollens_spool_refused_requests_total{capacity}"]
        wait_until(lambda: list((tmp_path / "spool").glob("traces-*.ready")))
        for segment in (tmp_path / "spool").glob("*.ready"):
            segment.unlink()
        wait_until(lambda: running.post(large).status_code == 200)
        assert 200 == running.client.get(f"{running.http}/readyz").status_code


def test_a_token_is_asked_for_and_never_told(tmp_path: Path) -> None:
    """Nobody gets in without it, and neither logs, which have a line for start and interrupt, nor metrics show it."""
    (tmp_path / "token").write_text("s3cret\n")
    with collector(tmp_path, {"receivers": {"token_file": str(tmp_path / "token")}}) as running:
        assert 401 == running.post(request(1)).status_code
        assert 401 == running.post(request(1), Authorization="Bearer s3cre").status_code
        assert 200 == running.post(request(1), Authorization="Bearer s3cret").status_code
        page = running.client.get(f"http://127.0.0.1:{running.said['metrics_port']}/metrics").text
        assert 0 == running.stop(signal.SIGINT)
    lines = running.log.read_text().splitlines()
    assert "s3cre" not in page + "".join(lines)
    assert [["INFO", "collector.service"]] * 2 == [line.split(" ")[1:3] for line in lines]
    assert {True} == {name.sealed for name in segment_names(tmp_path / "spool")}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"receiver": {}}, "collector.receiver: unknown; expected one of spool, receivers"),
        ({"receivers": {"token_file": "/nowhere/token"}}, "/nowhere/token"),
    ],
)
def test_a_bad_configuration_ends_the_start(tmp_path: Path, config: dict[str, object], told: str) -> None:
    """Exit code 2 and what is wrong, before anything is collected."""
    assert told in refused(tmp_path, config)


def test_flags_are_checked(tmp_path: Path) -> None:
    """A port that is none is named."""
    assert "got '65536'" in refused(tmp_path, None, "--otlp-http-port", "65536")


def test_nothing_else_runs_on_after_a_stop_in_the_middle_of_the_start(tmp_path: Path) -> None:
    """SIGTERM right after the ready line is a graceful stop, too, whatever the parts are doing."""
    with pages(lambda request: threading.Event().wait(0.5)) as server:
        jobs = [{"name": "slow", "targets": [server.address], "interval_s": 0.5}]
        with collector(tmp_path, {"scrape": {"jobs": jobs}, "gpu": {"nvml": True}}) as running:
            assert 0 == running.stop()


def test_a_missing_driver_is_not_health(shared: Running) -> None:
    """Without NVML the sampler is off, says so on `/metrics` and in one line of the log."""
    wait_until(lambda: "tollens_gpu_available" in shared.metrics())
    available = shared.metrics()["tollens_gpu_available"]
    told = [line for line in shared.log.read_text().splitlines() if " collector.gpu_nvml GPU sampling is " in line]
    assert [available] == [float(line.endswith(" on")) for line in told]


def test_metrics_are_at_one_path_only(shared: Running) -> None:
    """Other paths and methods are turned away, and OpenMetrics is spoken to who asks for it."""
    ask, base = shared.client, f"http://127.0.0.1:{shared.said['metrics_port']}"
    answers = [ask.get(f"{base}/"), ask.post(f"{base}/metrics"), ask.head(f"{base}/metrics")]
    page = ask.get(f"{base}/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert [404, 405, 200] == [answer.status_code for answer in answers]
    assert page.text.endswith("# EOF\n")


@pytest.mark.parametrize("part", ["otlp_grpc", "otlp_http", "metrics"])
def test_a_port_in_use_is_one_clear_line(shared: Running, tmp_path: Path, part: str) -> None:
    """Exit code 2, and which part could not listen where; whoever has the port is not disturbed."""
    port = shared.said[f"{part}_port"]
    (line,) = refused(tmp_path, None, f"--{part.replace('_', '-')}-port", f"{port}").splitlines()
    name = {"otlp_grpc": "OTLP/gRPC", "otlp_http": "OTLP/HTTP", "metrics": "metrics"}[part]
    assert f"{name} cannot listen on 127.0.0.1:{port}" in line
    assert 200 == shared.client.get(f"{shared.http}/readyz").status_code


def test_a_spool_in_use_is_one_clear_line(shared: Running) -> None:
    """A second collector on the same spool does not start, and the first is not disturbed."""
    (line,) = refused(shared.log.parent).splitlines()
    assert "another process has it open" in line
    assert 200 == shared.post(request(1)).status_code


def test_an_endpoint_that_leads_back_is_refused(tmp_path: Path) -> None:
    """To forward to the own receiver would never end: exit code 2 at the start."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    forward = {"endpoint": f"http://localhost:{port}"}
    assert "own receiver" in refused(tmp_path, {"forward": forward}, "--otlp-http-port", f"{port}")


def test_nobody_need_read_its_output(tmp_path: Path) -> None:
    """When whoever started it is gone before the ready line, it collects all the same."""
    read, write = os.pipe()
    os.close(read)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command(tmp_path), stdout=write, stderr=log)
    os.close(write)
    with process:
        wait_until(lambda: b"collecting into" in (tmp_path / "log").read_bytes())
        assert None is process.poll()
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(PATIENCE_S)
