"""Parts of the GPU samplers that need no library: the outbox, owners of processes, and asking again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import pytest

from collector.gpu.device import ASK_AGAIN_S, Device
from collector.gpu.otlp import Reading
from collector.gpu.outbox import MAX_WAITING, Outbox
from collector.gpu.processes import Owners, owner_in
from collector.gpu.settings import GpuSettings
from correlator.model.records import Signal
from tests.collector.memory_sink import MemorySink

POD, CONTAINER = "0f3a1b2c-1111-2222-3333-444455556666", "ab" * 32


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [
        (f"0::/kubepods/burstable/pod{POD}/{CONTAINER}", {"container.id": CONTAINER, "k8s.pod.uid": POD}),
        (
            f"0::/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{CONTAINER}.scope",
            {"container.id": CONTAINER, "k8s.pod.uid": POD},
        ),
        (
            f"11:devices:/kubepods/pod{'cd' * 16}/{CONTAINER}\n1:name=x:/",
            {"container.id": CONTAINER, "k8s.pod.uid": "cd" * 16},
        ),
        (f"0::/system.slice/docker-{CONTAINER}.scope", {"container.id": CONTAINER}),
        (f"0::/machine.slice/libpod-{CONTAINER}.scope/container", {"container.id": CONTAINER}),
        ("0::/user.slice/user-1000.slice/session-3.scope", {}),
        (f"0::/x/{CONTAINER}ff", {}),
        ("0::/", {}),
        ("", {}),
    ],
)
def test_container_and_pod_of_a_cgroup(cgroup: str, expected: dict[str, str]) -> None:
    """Ids are found as the usual runtimes write them, and none where there are none."""
    assert expected == owner_in(cgroup)


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    """A process that has ended, or was never here, has its id and nothing else."""
    assert {"process.pid": 7} == Owners(tmp_path).of(7)


@pytest.mark.parametrize(("error", "soon"), [(3, False), (13, False), (4, False), (999, True), (6, True), (21, True)])
def test_what_is_not_supported_is_asked_for_seldom(error: int, soon: bool) -> None:
    """An absent reading is asked for again after ten minutes, one that failed in passing at the next sample."""
    asked = []

    def reader(handle: Any) -> Iterator[Reading]:
        asked.append(handle)
        if len(asked) == 1:
            raise pynvml.NVMLError(error)
        yield Reading("hw.power", "W", 1.0)

    device = Device(None, {}, Owners(Path("/proc")), {"power": reader}, is_mig=True)
    assert [] == device.read(100.0)
    assert soon is ("power" not in device.missing)
    assert (1 if soon else 0) == len(device.read(101.0))
    assert (1 if soon else 0) == len(device.read(99.0 + ASK_AGAIN_S))
    assert [1.0] == [reading.value for reading in device.read(101.0 + ASK_AGAIN_S)]
    assert {} == device.missing


def test_events_go_first_and_in_order() -> None:
    """What was refused is given again, oldest first, before the next sample."""
    sink = MemorySink()
    outbox = Outbox(sink)
    sink.full = True
    for number in (1, 2, 3):
        outbox.event(Signal.LOGS, bytes([number]))
    outbox.sample(Signal.METRICS, b"lost")
    sink.full = False
    outbox.sample(Signal.METRICS, b"kept")
    assert [b"\1", b"\2", b"\3"] == sink.payloads(Signal.LOGS)
    assert [b"kept"] == sink.payloads(Signal.METRICS)


def test_a_refusal_that_comes_late() -> None:
    """An event whose keeping failed afterwards is given again; a sample is only counted."""
    sink = MemorySink()
    outbox = Outbox(sink)
    sink.late = True
    outbox.event(Signal.LOGS, b"x")
    outbox.sample(Signal.METRICS, b"lost")
    sink.late = False
    outbox.drain(5)
    assert ([b"x"], []) == (sink.payloads(Signal.LOGS), sink.payloads(Signal.METRICS))
    assert 3 == outbox.counts["refused_requests"]


def test_waiting_events_are_bounded() -> None:
    """Beyond the bound events are dropped and counted; draining into a sink that stays full ends."""
    sink = MemorySink()
    sink.full = True
    outbox = Outbox(sink)
    for _ in range(MAX_WAITING + 10):
        outbox.event(Signal.LOGS, b"x")
    outbox.drain(0.05)
    assert 10 == outbox.counts["dropped_events"]
    sink.full = False
    outbox.flush()
    assert MAX_WAITING == len(sink.payloads(Signal.LOGS))


@pytest.mark.parametrize("settings", [{"interval_s": 0.1}, {"interval_s": 11}, {"retry_s": 0}, {"intervall_s": 1}])
def test_settings_have_bounds(settings: dict[str, Any]) -> None:
    """From 200 ms to 10 s; unknown names are refused."""
    with pytest.raises(ValueError):
        GpuSettings(**settings)
