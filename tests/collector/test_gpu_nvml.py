"""The NVML sampler as a process, across the real ctypes boundary, against a compiled stand-in of the library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from correlator.model.records import Signal
from tests.collector.memory_sink import Point, eventually
from tests.collector.nvml_process import NEEDS_COMPILER, compiled, sampling

pytestmark = NEEDS_COMPILER


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script"


POD, CONTAINER = "0f3a1b2c-1111-2222-3333-444455556666", "ab" * 32
HOST = (
    "gpus 7",
    "fail nvmlDeviceGetPowerUsage 1 3",
    "field 82 1 3",
    "fail nvmlDeviceGetPowerUsage 2 999",
    "field 197 3 3",
    "field 198 3 3",
    "fail nvmlDeviceGetMemoryInfo_v2 4 25",
    "fail nvmlDeviceRegisterEvents 5 3",
    "mig 6 2",
    "process 0 41 5000 80",
    "process 0 42 -1 10",
    "process 6 43 700 1",
)
"""GPU 0 is sound, each of the others has one peculiarity."""


@dataclass(frozen=True)
class Sampled:
    """Four samples of that host, the state, and how often the failing calls were made."""

    points: list[Point]
    state: Any
    failures: dict[str, int]

    def of(self, gpu: int) -> list[Point]:
        return [point for point in self.points if point.resource.get("hw.id") == f"GPU-{gpu}"]

    def missing(self, gpu: int) -> dict[str, str]:
        devices = {device["resource"]["hw.id"]: device for device in self.state["devices"]}
        found: dict[str, str] = devices[f"GPU-{gpu}"]["missing"]
        return found


@pytest.fixture(scope="module")
def host(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Sampled:
    folder = tmp_path_factory.mktemp("host")
    cgroup = folder / "proc" / "41" / "cgroup"
    cgroup.parent.mkdir(parents=True)
    cgroup.write_text(f"0::/kubepods/burstable/pod{POD}/{CONTAINER}\n")
    with sampling(library, folder / "script", *HOST, proc=str(folder / "proc")) as process:
        process.sink.until(lambda: len(process.sink.points("tollens_gpu_available")) >= 4)
        state = process.ask()
        calls = {name: process.failures(name, 1) for name in ("nvmlDeviceGetPowerUsage", "field")}
        return Sampled(process.sink.points(), state, calls)


def test_everything_a_gpu_tells(host: Sampled) -> None:
    """Each reading arrives under its name in its unit: shares from 0 to 1, W, J, Cel, MHz, bytes."""
    points = [point for point in host.of(0) if not point.name.startswith("gpu_process")]
    told = {(p.name, p.unit, p.kind, tuple(p.attributes.values()), p.value) for p in points}
    reasons = {p.attributes["reason"]: p.value for p in points if p.name == "gpu_throttle_reason"}
    rest = {row for row in told if row[0] != "gpu_throttle_reason"}
    assert {
        ("hw.gpu.memory.usage", "By", "sum", (), 400.0),
        ("hw.gpu.memory.limit", "By", "sum", (), 1000.0),
        ("hw.gpu.memory.utilization", "1", "gauge", (), 0.5),
        ("hw.gpu.utilization", "1", "gauge", ("general",), 0.97),
        ("mem_copy_util", "1", "gauge", (), 0.4),
        ("gpu_sm_clock", "MHz", "gauge", (), 1980.0),
        ("gpu_mem_clock", "MHz", "gauge", (), 2619.0),
        ("hw.power", "W", "gauge", ("gpu",), 642.118),
        ("gpu_power_limit", "W", "gauge", (), 700.0),
        ("hw.energy", "J", "sum", ("gpu",), 5000.5),
        ("hw.temperature", "Cel", "gauge", ("gpu",), 73.0),
        ("gpu_memory_temperature", "Cel", "gauge", (), 66.0),
        ("hw.errors", "{error}", "sum", ("gpu", "corrected"), 5.0),
        ("hw.errors", "{error}", "sum", ("gpu", "uncorrected"), 1.0),
        ("hw.gpu.io", "By", "sum", ("transmit",), 197.0),
        ("hw.gpu.io", "By", "sum", ("receive",), 198.0),
        ("nvlink_tx", "By", "sum", (), 138.0 * 1024),
        ("nvlink_rx", "By", "sum", (), 139.0 * 1024),
        ("nvlink_errors", "{error}", "sum", ("crc_flit",), 38.0),
        ("nvlink_errors", "{error}", "sum", ("crc_data",), 45.0),
        ("nvlink_errors", "{error}", "sum", ("replay",), 52.0),
        ("nvlink_errors", "{error}", "sum", ("recovery",), 59.0),
    } == rest
    assert {"sw_power_cap", "hw_thermal_slowdown"} == {reason for reason, value in reasons.items() if value}
    assert 9 == len(reasons)
    assert {1.0} == {point.value for point in host.points if point.name == "tollens_gpu_available"}


def test_what_grows_and_what_goes_up_and_down(library: Path, script: Path) -> None:
    """Counters are cumulative and monotonic; the size of memory is a sum that is not."""
    with sampling(library, script, "gpus 1") as process:
        process.sink.until(lambda: process.sink.points("hw.power"))
        request = ExportMetricsServiceRequest.FromString(process.sink.payloads(Signal.METRICS)[0])
    metrics = [m for r in request.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
    sums = {m.name: m.sum.is_monotonic for m in metrics if m.HasField("sum")}
    assert {2} == {m.sum.aggregation_temporality for m in metrics if m.HasField("sum")}
    counters = ("hw.energy", "hw.errors", "hw.gpu.io", "nvlink_tx", "nvlink_rx", "nvlink_errors")
    assert {"hw.gpu.memory.usage": False, "hw.gpu.memory.limit": False, **dict.fromkeys(counters, True)} == sums


def test_the_resource_names_host_and_gpu(host: Sampled) -> None:
    """Host, id, index, model and driver stand on every GPU's points, and no service that nobody named."""
    common = {"host.name": "node-1", "hw.driver_version": "600.1", "gpu.model": "Stand-in 80GB"}
    for gpu in range(7):
        assert {**common, "hw.id": f"GPU-{gpu}", "gpu": gpu} == host.of(gpu)[0].resource


def test_a_reading_that_is_not_supported_is_left_out(host: Sampled) -> None:
    """A GPU lacks two readings: only those are missing there, said with the reason, and not asked each time."""
    names = {point.name for point in host.of(0)} - {point.name for point in host.of(1)}
    assert {"hw.power", "gpu_memory_temperature", "gpu_process_memory", "gpu_process_sm_util"} == names
    assert {"power": "Not Supported", "memory_temperature": "Not Supported"} == host.missing(1)
    assert {"nvmlDeviceGetPowerUsage": 1, "field": 1} == host.failures
    assert {} == host.missing(0)


def test_a_passing_error_is_counted_and_asked_again(host: Sampled) -> None:
    """An unknown error leaves a reading out this time only; it is asked for at the next sample."""
    (errors,) = (device["errors"] for device in host.state["devices"] if device["resource"]["gpu"] == 2)
    assert errors["power"] >= 4
    assert {} == host.missing(2)
    assert "hw.power" not in {point.name for point in host.of(2)}


def test_pcie_throughput_where_there_are_no_counters(host: Sampled) -> None:
    """Without byte counters the rates are read, in bytes a second, and not at each sample since they take time."""
    rates = [(p.name, p.unit, p.value) for p in host.of(3) if p.name.startswith("pcie_")]
    assert [("pcie_tx", "By/s", 30_000.0), ("pcie_rx", "By/s", 70_000.0)] == rates
    assert "hw.gpu.io" not in {point.name for point in host.of(3)}


def test_an_old_driver(host: Sampled) -> None:
    """Where memory without the reserved part cannot be had, the older call answers."""
    assert {500.0} == {point.value for point in host.of(4) if point.name == "hw.gpu.memory.usage"}


def test_no_events_on_this_gpu(host: Sampled) -> None:
    """Where a GPU has no events, that is said as a missing reading."""
    assert {"xid": "Not Supported"} == host.missing(5)


def test_mig_devices(host: Sampled) -> None:
    """A GPU in MIG mode has its devices beside it: memory of each, its own id, its parent's, and its instances."""
    points = [point for point in host.points if str(point.resource.get("hw.id")).startswith("MIG")]
    one, two = [point.resource for point in points if point.name == "hw.gpu.memory.usage"][:2]
    assert ("MIG-6-0", "MIG-6-2", "GPU-6", 6) == (one["hw.id"], two["hw.id"], one["hw.parent"], one["gpu"])
    assert (7, 9, 0) == (one["gpu_instance_id"], two["gpu_instance_id"], one["compute_instance_id"])
    assert "Stand-in 80GB MIG 1g.10gb" == one["gpu.model"]
    assert {("hw.gpu.memory.usage", 25.0), ("hw.gpu.memory.limit", 100.0), ("hw.gpu.memory.utilization", 0.25)} == {
        (point.name, point.value) for point in points
    }


def test_processes_with_their_pods(host: Sampled) -> None:
    """Memory and SM share of each process, with container, pod and MIG instance where they are known."""
    owner = {"process.pid": 41, "container.id": CONTAINER, "k8s.pod.uid": POD}
    memory = [(p.attributes, p.value) for p in host.of(0) if p.name == "gpu_process_memory"]
    share = [(p.attributes, p.value) for p in host.of(0) if p.name == "gpu_process_sm_util"]
    assert [(owner, 5000.0)] == memory[:1]
    assert [(owner, 0.8), ({"process.pid": 42}, 0.1)] == share[:2]
    (of_mig, *_) = (p for p in host.of(6) if p.name == "gpu_process_memory")
    assert {"process.pid": 43, "gpu_instance_id": 1} == of_mig.attributes


@pytest.mark.parametrize(("code", "event"), [(15, "tollens.gpu_lost"), (16, "tollens.gpu_reset_required")])
def test_a_gpu_that_fails_midway(library: Path, script: Path, code: int, event: str) -> None:
    """One event says which GPU failed, however often it is looked for again; the other goes on; it may come back."""
    with sampling(library, script, "gpus 2") as process:
        process.sink.until(lambda: process.sink.points("hw.power"))
        process.play("gpus 2", f"fail * 1 {code}")
        process.sink.until(process.sink.logs)
        process.sink.clear()
        process.sink.until(lambda: len(process.sink.points("hw.power")) >= 4)
        assert {"GPU-0"} == {point.resource["hw.id"] for point in process.sink.points("hw.power")}
        assert {1.0} == set(process.sink.values("tollens_gpu_available"))
        assert process.ask()["counts"]["reopened"] >= 1
        process.play("gpus 2")
        process.sink.until(lambda: [p for p in process.sink.points("hw.power") if p.resource["hw.id"] == "GPU-1"])
        process.play("gpus 2", f"fail * 1 {code}")
        process.sink.until(process.sink.logs)
        state = process.stop()
    (log,) = process.sink.logs()
    assert (event, "GPU-1", 1, "node-1") == (
        log.event,
        log.resource["hw.id"],
        log.resource["gpu"],
        log.resource["host.name"],
    )
    assert 2 == state["counts"]["faults"]


def test_a_gpu_that_vanishes(library: Path, script: Path) -> None:
    """A GPU that is not listed any more is an event too."""
    with sampling(library, script, "gpus 2") as process:
        process.sink.until(lambda: process.sink.points("hw.power"))
        process.play("gpus 1")
        process.sink.until(process.sink.logs)
        process.sink.clear()
        process.sink.until(lambda: len(process.sink.points("hw.power")) >= 3)
        assert 1 == process.stop()["counts"]["faults"]
    assert {"GPU-0"} == {point.resource["hw.id"] for point in process.sink.points("hw.power")}


def test_a_gpu_lost_from_the_start(library: Path, script: Path) -> None:
    """A GPU that cannot even be named is told once, by its index; with no other GPU, none is available."""
    with sampling(library, script, "gpus 1", "fail * 0 15") as process:
        process.sink.until(lambda: len(process.sink.points("tollens_gpu_available")) >= 3)
        state = process.stop()
    assert [("tollens.gpu_lost", 0)] == [(log.event, log.resource["gpu"]) for log in process.sink.logs()]
    assert {0.0} == set(process.sink.values("tollens_gpu_available"))
    assert (False, "no GPU answers") == (state["available"], state["reason"])


def test_xids_are_events(library: Path, script: Path) -> None:
    """An Xid arrives with its code and GPU, at once and not at the next sample; one of an unknown GPU as well."""
    with sampling(library, script, "gpus 2", interval_s=10) as process:
        process.sink.until(lambda: process.sink.points("tollens_gpu_available"))
        process.play("gpus 2", "xid 1 1 79", "xid 2 -1 31", "xid 3 0 79")
        logs = process.sink.until(lambda: process.sink.logs() if len(process.sink.logs()) == 3 else None)
        assert 1 == len(process.sink.points("tollens_gpu_available"))
    assert {"tollens.xid"} == {log.event for log in logs}
    assert [("GPU-1", 79), (None, 31), ("GPU-0", 79)] == [(x.resource.get("hw.id"), x.attributes["xid"]) for x in logs]
    assert ["GPU-1", None, "GPU-0"] == [log.attributes.get("hw.id") for log in logs]
    assert "Xid 79 on GPU 1 (GPU-1)" == logs[0].body


def test_a_storm_of_xids_is_bounded(library: Path, script: Path) -> None:
    """Of a storm the first hundred between two samples are told, and that there was more is counted."""
    with sampling(library, script, "gpus 1", interval_s=10) as process:
        process.sink.until(lambda: process.sink.points("tollens_gpu_available"))
        process.play("gpus 1", *(f"xid {n} 0 13" for n in range(1, 151)))
        process.sink.until(lambda: len(process.sink.logs()) >= 100)
        state = process.stop()
    assert (100, 1) == (state["counts"]["xids"], state["counts"]["xid_storms"])


def test_waiting_for_xids_may_fail(library: Path, script: Path) -> None:
    """If the driver cannot wait, sampling goes on at its rhythm, and the failures are counted."""
    with sampling(library, script, "gpus 1", "fail nvmlEventSetWait_v2 -1 999") as process:
        process.sink.until(lambda: len(process.sink.points("tollens_gpu_available")) >= 3)
        state = process.stop()
    assert 0 < state["counts"]["xid_failures"] <= state["counts"]["samples"]


def test_events_wait_for_a_full_sink(library: Path, script: Path) -> None:
    """While the sink is full, samples are let go and counted; the Xid is given once there is room."""
    with sampling(library, script, "gpus 1") as process:
        process.sink.until(lambda: process.sink.points("tollens_gpu_available"))
        process.ask("full")
        process.play("gpus 1", "xid 1 0 48")
        process.sink.clear()
        eventually(lambda: {"xids", "refused_requests"} <= process.ask()["counts"].keys())
        process.ask("room")
        process.sink.until(process.sink.logs)
        process.sink.until(lambda: process.sink.points("hw.power"))
        process.stop()
    assert [48] == [log.attributes["xid"] for log in process.sink.logs()]


def test_no_library(script: Path) -> None:
    """Without the library the part is off: it says so with the reason, as a metric and in its state."""
    with sampling(None, script) as process:
        process.sink.until(lambda: len(process.sink.points("tollens_gpu_available")) >= 2)
        state = process.stop()
    assert (False, "NVML Shared Library Not Found") == (state["available"], state["reason"])
    assert {0.0} == set(process.sink.values("tollens_gpu_available"))
    assert {"reason": "NVML Shared Library Not Found"} == process.sink.points()[0].attributes


def test_a_driver_that_comes_and_goes(library: Path, script: Path) -> None:
    """The driver appears: sampling begins by itself; it is unloaded: off again, without a word of a lost GPU."""
    with sampling(library, script) as process:
        process.sink.until(lambda: 0.0 in process.sink.values("tollens_gpu_available"))
        assert "Driver Not Loaded" == process.ask()["reason"]
        process.play("gpus 1")
        process.sink.until(lambda: process.sink.points("hw.power"))
        process.sink.clear()
        process.play("gpus 1", "fail * 0 9", "fail nvmlInitWithFlags -1 9")
        process.sink.until(lambda: process.sink.values("tollens_gpu_available").count(0.0) >= 2)
        process.play("gpus 1")
        process.sink.until(lambda: 1.0 in process.sink.values("tollens_gpu_available"))
        process.stop()
    assert [] == process.sink.logs()


def test_no_gpus(library: Path, script: Path) -> None:
    """A driver without GPUs is not health either; a GPU that is plugged in is sampled."""
    with sampling(library, script, "gpus 0") as process:
        process.sink.until(lambda: 0.0 in process.sink.values("tollens_gpu_available"))
        process.play("gpus 1")
        process.sink.until(lambda: process.sink.points("hw.power"))
