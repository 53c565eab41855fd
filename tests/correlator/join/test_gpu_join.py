"""GPU samples tied to requests: by machine and pod, over each request's own interval, or not at all with the reason."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.gpu.otlp import Reading, event_request
from correlator.join.gpu_ties import mean_between
from correlator.model import names as n
from correlator.model.evidence import Evidence, Windows, with_windows
from correlator.model.evidence import Window as Stretch
from correlator.model.records import Batch, Signal
from correlator.store import Store
from hypotheses._frames import frame_with
from tests.correlator.join.gpu_telemetry import GIB, calling, load, page, sampled, serving
from tests.correlator.join.telemetry import at, gauge, join, metrics

REQUESTS = [(f"r{i:02}", 3.0 * i, 3.0 * i + 2.5) for i in range(20)]
"""Twenty requests of 2.5 s, one after the other."""
SECONDS = range(62)


def evidence(store: Store, *batches: object) -> Evidence:
    return join(store, *batches).evidence  # type: ignore[arg-type]


def rising(t: float) -> list[Reading]:
    return load(t / 100)


def test_a_request_has_the_mean_of_the_samples_in_its_own_interval(store: Store) -> None:
    """Of a load that rises by one percent a second each request has the middle of its own seconds."""
    found = evidence(
        store, serving(REQUESTS, host__name="gpu-7"), sampled(SECONDS, rising, host__name="gpu-7", hw__id="G")
    )
    expected = [np.mean([t / 100 for t in SECONDS if start <= t <= end]) for _, start, end in REQUESTS]
    assert expected == pytest.approx(found.requests[n.GPU_UTIL.name].to_list())
    assert [40 * GIB] * 20 == found.requests[n.GPU_MEMORY_USED.name].to_list()


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.floats(-1e12, 1e12)), max_size=40, unique_by=lambda pair: pair[0]),
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100)), min_size=1, max_size=10),
)
def test_averaging_equals_counting_by_hand(samples: list[tuple[int, float]], spans: list[tuple[int, int]]) -> None:
    """The fast mean over each interval is the mean of the samples in it, both ends included; none gives no value."""
    samples = sorted(samples)
    track = np.array([t for t, _ in samples], dtype=np.int64), np.array([v for _, v in samples], dtype=float)
    begin = np.array([b for b, _ in spans], dtype=np.int64)
    end = begin + np.array([length for _, length in spans])
    by_hand = [[v for t, v in samples if b <= t <= e] for b, e in zip(begin, end, strict=True)]
    expected = [np.mean(inside) if inside else np.nan for inside in by_hand]
    np.testing.assert_allclose(mean_between(track, begin, end), expected, rtol=1e-9, atol=1e-2)


def test_the_tie_is_recorded(store: Store) -> None:
    """Each request says which GPU it is tied to and by what, and so does the coverage."""
    found = evidence(
        store, serving(REQUESTS, host__name="gpu-7"), sampled(SECONDS, rising, host__name="gpu-7", hw__id="G")
    )
    assert {("G", "host.name (gpu-7)")} == set(zip(found.requests["gpu"], found.requests["gpu_tie"], strict=True))
    assert "GPUs G serve vllm gpu-7: tied by host.name (gpu-7)" in found.coverage.messages
    assert "gpu_metrics" in found.coverage.extents


def test_two_machines_keep_their_own(store: Store) -> None:
    """Requests served on different machines have different GPUs' values, and the GPU tells them apart."""
    first, second = REQUESTS[::2], REQUESTS[1::2]
    found = evidence(
        store,
        serving(first, host__name="gpu-7"),
        serving(second, host__name="gpu-8"),
        sampled(SECONDS, lambda t: load(0.25), host__name="gpu-7", hw__id="A"),
        sampled(SECONDS, lambda t: load(0.75), host__name="gpu-8", hw__id="B"),
    ).requests
    assert {("A", 0.25), ("B", 0.75)} == set(zip(found["attribute.gpu"], found[n.GPU_UTIL.name], strict=True))
    assert [0.25] * 10 == found.loc[found["host"] == "gpu-7", n.GPU_UTIL.name].to_list()


def test_where_nothing_connects_nothing_is_guessed(store: Store) -> None:
    """Two machines with GPUs and spans that name none: no value in either frame, and a prediction says why."""
    found = evidence(
        store,
        serving(REQUESTS),
        sampled(SECONDS, rising, host__name="gpu-7", hw__id="A"),
        sampled(SECONDS, rising, host__name="gpu-8", hw__id="B"),
    )
    assert n.GPU_UTIL.name not in found.requests and n.GPU_UTIL.name not in found.series
    reason = "GPUs were seen on gpu-7, gpu-8, and it does not name its machine, pod or GPU"
    assert f"no GPU is tied to vllm: {reason}" in found.coverage.messages
    assert f"not tied to requests: {reason}" == found.coverage.untied[n.GPU_UTIL.name]
    whole = with_windows(found, Windows(Stretch(at(0), at(30)), Stretch(at(30), at(60))))
    reading = frame_with(whole, n.GPU_UTIL)
    assert reason in reading.reason  # type: ignore[union-attr]


@pytest.mark.parametrize("spans", [serving(REQUESTS), calling(REQUESTS)], ids=["engine", "client"])
def test_a_single_machine_connects_by_itself(store: Store, spans: object) -> None:
    """With one machine in sight neither the engine's spans nor the client's have to name it."""
    found = evidence(store, spans, sampled(SECONDS, rising, host__name="gpu-7", hw__id="G"))
    assert {"the only host with GPUs"} == set(found.requests["gpu_tie"])
    assert pytest.approx(0.01) == found.requests[n.GPU_UTIL.name].iloc[0]


def test_too_long_an_interval_is_not_tied_to_requests(store: Store) -> None:
    """Sampled every 30 s, requests of 2.5 s: the series has the signal, the requests do not, and the reason is told."""
    sparse = sampled(range(0, 601, 30), rising, host__name="gpu-7", hw__id="G")
    requests = [(f"r{i:03}", 3.0 * i, 3.0 * i + 2.5) for i in range(200)]
    found = evidence(store, serving(requests, host__name="gpu-7"), sparse)
    assert n.GPU_UTIL.name not in found.requests
    assert 21 == found.series[n.GPU_UTIL.name].notna().sum()
    reason = "untestable at this interval: sampled every 30 s, requests last 2.5 s"
    assert reason == found.coverage.untied[n.GPU_UTIL.name]
    assert f"{n.GPU_UTIL.name}: {reason}" in found.coverage.messages


def test_requests_longer_than_a_sparse_interval_are_tied(store: Store) -> None:
    """What counts is the requests' own length, not a fixed number of seconds."""
    requests = [(f"r{i:02}", 60.0 * i, 60.0 * i + 55) for i in range(10)]
    found = evidence(
        store, serving(requests, host__name="h"), sampled(range(0, 601, 30), rising, host__name="h", hw__id="G")
    )
    assert 10 == found.requests[n.GPU_UTIL.name].notna().sum()
    assert {} == found.coverage.untied


def test_gpus_of_one_engine_are_put_together_as_the_signal_says(store: Store) -> None:
    """Of two GPUs: mean of the load, sum of the memory, the fuller, the hotter and the slower one; idle ones not."""

    def gpu(t: float, load_: float, used: float, heat: int, clock: int) -> list[Reading]:
        return [
            *load(load_, used * GIB),
            Reading("hw.gpu.memory.utilization", "1", used / 80),
            Reading("hw.temperature", "Cel", heat, attributes={"hw.type": "gpu"}),
            Reading("gpu_sm_clock", "MHz", clock),
        ]

    found = evidence(
        store,
        serving(REQUESTS, host__name="h"),
        sampled(SECONDS, lambda t: gpu(t, 0.8, 60, 70, 1980), host__name="h", hw__id="A"),
        sampled(SECONDS, lambda t: gpu(t, 0.6, 20, 85, 1200), host__name="h", hw__id="B"),
        sampled(SECONDS, lambda t: gpu(t, 0.0, 0.1, 30, 345), host__name="h", hw__id="C"),
    )
    signals = (n.GPU_UTIL, n.GPU_MEMORY_USED, n.GPU_MEMORY_SHARE, n.GPU_TEMPERATURE, n.GPU_SM_CLOCK)
    for frame in (found.requests, found.series):
        told = frame[[s.name for s in signals]].dropna()
        assert [0.7, 80 * GIB, 0.75, 85, 1200] == pytest.approx(told.iloc[0].to_list())
    assert "A, B" == found.requests["gpu"].iloc[0]


def test_a_gpu_that_falls_silent_does_not_silence_the_others(store: Store) -> None:
    """One of two GPUs stops telling in the middle: what the other tells still counts."""
    found = evidence(
        store,
        serving(REQUESTS, host__name="h"),
        sampled(SECONDS, lambda t: load(0.5), host__name="h", hw__id="A"),
        sampled(range(30), lambda t: load(0.7), host__name="h", hw__id="B"),
    ).requests
    assert [0.6, 0.5] == pytest.approx([found[n.GPU_UTIL.name].iloc[i] for i in (0, -1)])


def test_the_series_has_the_gpus_beside_the_engines_metrics(store: Store) -> None:
    """From metrics alone: engine and GPU of one machine meet in the same row."""
    found = evidence(
        store,
        metrics(gauge("vllm:num_requests_running", [(t, 4) for t in SECONDS])),
        sampled(SECONDS, lambda t: load(0.5), host__name="h", hw__id="A"),
    ).series
    assert [[4, 0.5]] * 13 == found[[n.RUNNING.name, n.GPU_UTIL.name]].to_numpy().tolist()


def test_without_gpu_metrics_nothing_is_looked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle without GPU metrics costs no query more."""
    from correlator.join import gpus

    monkeypatch.setattr(gpus, "engines", lambda *_: pytest.fail("nothing to connect"))
    found = evidence(store, serving(REQUESTS, host__name="h"))
    assert "gpu" not in found.requests and "gpu_metrics" not in found.coverage.extents
    assert isinstance(found.requests, pd.DataFrame)


DCGM = """\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-a",pci_bus_id="00000000:1B:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} {a}
DCGM_FI_DEV_GPU_UTIL{{gpu="1",UUID="GPU-b",pci_bus_id="00000000:43:00.0",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-1"}} 90
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 61440
DCGM_FI_DEV_FB_USED{{gpu="1",UUID="GPU-b",device="nvidia1",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-1"}} 73728
# TYPE DCGM_FI_DEV_FB_FREE gauge
DCGM_FI_DEV_FB_FREE{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 20480
# TYPE DCGM_FI_DEV_FB_RESERVED gauge
DCGM_FI_DEV_FB_RESERVED{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 512
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 560
# TYPE DCGM_FI_DEV_ENFORCED_POWER_LIMIT gauge
DCGM_FI_DEV_ENFORCED_POWER_LIMIT{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 700
# TYPE DCGM_FI_DEV_CLOCKS_EVENT_REASONS gauge
DCGM_FI_DEV_CLOCKS_EVENT_REASONS{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} {bits}
# TYPE DCGM_FI_PROF_PCIE_TX_BYTES counter
DCGM_FI_PROF_PCIE_TX_BYTES{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 2000000
# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge
DCGM_FI_PROF_DRAM_ACTIVE{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} 0.625
# TYPE DCGM_FI_DEV_XID_ERRORS gauge
DCGM_FI_DEV_XID_ERRORS{{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-0"}} {xid}
DCGM_FI_DEV_XID_ERRORS{{gpu="1",UUID="GPU-b",device="nvidia1",Hostname="node-1",container="vllm",namespace="prod",pod="vllm-1"}} 31
"""  # noqa: E501


def test_a_page_of_dcgm_exporter_is_tied_by_its_pod(store: Store) -> None:
    """Units and meanings of DCGM: percent, MiB, bits; two pods on a machine each have their own GPU."""
    pages = [page(t, DCGM.format(a=50, bits=0x24 if t % 2 else 0x1, xid=0)) for t in SECONDS]
    pod = {"k8s__pod__name": "vllm-0", "k8s__namespace__name": "prod", "host__name": "vllm-0"}
    row = evidence(store, serving(REQUESTS[:2], **pod), *pages).requests.iloc[0]
    expected = {
        n.GPU_UTIL: 0.5, n.GPU_MEMORY_USED: 60 * GIB, n.GPU_MEMORY_SHARE: 0.75, n.GPU_MEMORY_TOTAL: 80.5 * GIB,
        n.GPU_POWER_SHARE: 0.8, n.GPU_PCIE_TX: 2e6, n.DRAM_ACTIVE: 0.625,
        n.GPU_THROTTLED: 1 / 3, n.GPU_POWER_CAPPED: 1 / 3,
    }  # fmt: skip
    assert {s.name: pytest.approx(v) for s, v in expected.items()} == {s.name: row[s.name] for s in expected}
    assert ("GPU-a", "k8s.pod.name ~ pod (prod/vllm-0)") == (row["gpu"], row["gpu_tie"])


def test_a_last_xid_is_an_event_when_it_changes(store: Store) -> None:
    """The code that was there all along happened before; the one that appears is an event at its time."""
    pages = [page(t, DCGM.format(a=50, bits=0, xid=79 if t >= 20 else 0)) for t in SECONDS]
    found = evidence(store, serving(REQUESTS), *pages).events
    assert [("xid", at(20), "GPU-a", {"xid": "79"})] == [(e.name, e.unix_nano, e.resource, e.attributes) for e in found]


def xid(time: float, code: int, **resource: str) -> Batch:
    """An Xid as our NVML sampler tells it."""
    named = {key.replace("__", "."): value for key, value in resource.items()}
    return Batch(Signal.LOGS, event_request("gpu_nvml", {}, at(time), "tollens.xid", "Xid", {"xid": code, **named}))


@pytest.mark.parametrize(
    ("told", "events"),
    [
        ([xid(5, 79, hw__id="GPU-a")], [5]),
        ([xid(5, 79)], [5]),
        ([xid(5, 79), xid(6, 79)], [5, 6]),
        ([xid(5, 79, hw__id="GPU-b")], [5, 20]),
        ([xid(5, 48, hw__id="GPU-a")], [5, 20]),
        ([xid(-80, 79, hw__id="GPU-a")], [-80, 20]),
    ],
    ids=["same_gpu", "some_gpu", "twice", "other_gpu", "other_code", "long_before"],
)
def test_an_xid_that_was_told_and_shows_in_a_metric_is_one(
    store: Store, told: list[Batch], events: list[float]
) -> None:
    """NVML or the kernel tell it at once, DCGM's last Xid shows it later: that is no second fault."""
    pages = [page(t, DCGM.format(a=50, bits=0, xid=79 if t >= 20 else 0)) for t in SECONDS]
    found = evidence(store, serving(REQUESTS), *pages, *told).events
    assert [at(time) for time in events] == [event.unix_nano for event in found if event.name == "xid"]
