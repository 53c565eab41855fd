"""Which device a series tells of, whose processes are on it, and what is no number."""

from time import time_ns

import pytest

from collector.gpu.otlp import Reading, metrics_request
from correlator.join import gpu_samples
from correlator.join.gpu_seen import latest
from correlator.model import names as n
from correlator.model.evidence import Evidence
from correlator.model.records import Batch, Signal
from correlator.store import Store
from tests.correlator.join.gpu_telemetry import GIB, load, page, sampled, serving
from tests.correlator.join.telemetry import counter, emptied, gauge, join, metrics

REQUESTS = [(f"r{i}", 3.0 * i, 3.0 * i + 2.5) for i in range(10)]
SECONDS = range(32)
DAY_NS = 86_400_000_000_000


def served_by(store: Store, *batches: Batch, **resource: str) -> Evidence:
    """Evidence of requests that an engine with this resource served."""
    return join(store, serving(REQUESTS, **(resource or {"host__name": "h"})), *batches).evidence


def process(pid: int, memory: float, share: float, **owner: str) -> list[Reading]:
    """A process on a GPU, as our sampler reads it."""
    named = {"process.pid": pid} | {key.replace("__", "."): value for key, value in owner.items()}
    return [
        Reading("gpu_process_memory", "By", int(memory * GIB), "updowncounter", named),
        Reading("gpu_process_sm_util", "1", share, attributes=named),
    ]


def shared(store: Store, *processes: list[Reading], **resource: str) -> tuple[float, float]:
    """Memory (GiB) and SM share of others than the engine, with these processes on its GPU."""
    readings = [reading for one in processes for reading in one]
    found = served_by(
        store, sampled(SECONDS, lambda t: readings, host__name="h", hw__id="G"), host__name="h", **resource
    )
    row = found.requests[[n.GPU_OTHER_MEMORY.name, n.GPU_OTHER_SM.name]].iloc[0]
    return row.iloc[0] / GIB, row.iloc[1]


def test_others_are_told_from_the_engine_by_its_process(store: Store) -> None:
    """Where the engine says its process id, all else is of others, be it more or less."""
    small, large = process(41, 10, 0.2), process(42, 30, 0.5)
    assert (30, 0.5) == pytest.approx(shared(store, small, large, process__pid="41"))


def test_others_are_told_from_the_engine_by_its_pod(store: Store) -> None:
    """Processes of the engine's pod are the engine's, how many there may be."""
    ours = [process(pid, 10, 0.2, k8s__pod__uid="u1") for pid in (1, 2)]
    others = process(3, 5, 0.1, k8s__pod__uid="u2")
    assert (5, 0.1) == pytest.approx(shared(store, *ours, others, k8s__pod__uid="u1"))


def test_an_unknown_engine_holds_at_most_the_largest_part(store: Store) -> None:
    """Two processes of whom nobody says which is the engine: the smaller part is the least that others hold."""
    assert (10, 0.2) == pytest.approx(shared(store, process(41, 10, 0.2), process(42, 30, 0.5)))


def test_an_engine_alone_shares_with_nobody(store: Store) -> None:
    """One process, or several of one container: nothing is of others."""
    assert (0, 0) == shared(store, process(41, 10, 0.2))
    assert (0, 0) == shared(store, *[process(pid, 10, 0.2, container__id="c") for pid in (1, 2)])


def test_without_processes_nothing_is_known_of_others(store: Store) -> None:
    """An empty list of processes is no list of an empty GPU."""
    found = served_by(store, sampled(SECONDS, lambda t: load(0.5), host__name="h", hw__id="G"))
    assert not {n.GPU_OTHER_MEMORY.name, n.GPU_OTHER_SM.name} & set(found.requests.columns)


def test_a_mig_instance_speaks_for_itself_and_its_gpu_for_the_rest(store: Store) -> None:
    """Memory is the instance's, clocks and heat are those of the whole GPU, the neighbour's instance is left out."""

    def whole(t: float) -> list[Reading]:
        heat = Reading("hw.temperature", "Cel", 70, attributes={"hw.type": "gpu"})
        return [heat, Reading("hw.gpu.memory.usage", "By", 60 * GIB, "updowncounter")]

    def part(used: int) -> list[Reading]:
        return [Reading("hw.gpu.memory.usage", "By", used * GIB, "updowncounter")]

    row = served_by(
        store,
        sampled(SECONDS, whole, host__name="h", hw__id="GPU-a", gpu=0),
        sampled(SECONDS, lambda t: part(15), host__name="h", hw__id="MIG-1", hw__parent="GPU-a", k8s__pod__uid="u1"),
        sampled(SECONDS, lambda t: part(45), host__name="h", hw__id="MIG-2", hw__parent="GPU-a", k8s__pod__uid="u2"),
        host__name="h",
        k8s__pod__uid="u1",
    ).requests.iloc[0]
    assert (15 * GIB, 70) == (row[n.GPU_MEMORY_USED.name], row[n.GPU_TEMPERATURE.name])
    assert "MIG-1, GPU-a" == row["gpu"]


MIG = """\
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.10gb",GPU_I_ID="9",Hostname="h",pod="p-1"} 4096
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.10gb",GPU_I_ID="10",Hostname="h",pod="p-2"} 8192
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",Hostname="h"} 66
"""


def test_mig_instances_of_dcgm_exporter_are_devices(store: Store) -> None:
    """The exporter gives instances the whole GPU's UUID; their own number tells them apart."""
    row = served_by(store, *[page(t, MIG) for t in SECONDS], k8s__pod__name="p-2").requests.iloc[0]
    assert (8 * GIB, 66) == (row[n.GPU_MEMORY_USED.name], row[n.GPU_TEMPERATURE.name])
    assert "GPU-a/10, GPU-a" == row["gpu"]


SHARED = """\
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",Hostname="h"} 90
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",Hostname="h",pod="p-1"} 60
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",Hostname="h",pod="p-2"} 30
"""


def test_a_pods_share_is_not_taken_for_the_gpu(store: Store) -> None:
    """Where the exporter repeats a metric for each pod the value of the whole GPU counts."""
    found = served_by(store, *[page(t, SHARED) for t in SECONDS])
    assert [0.9] * 10 == pytest.approx(found.requests[n.GPU_UTIL.name].to_list())


def test_two_ways_of_sampling_one_gpu_are_one_gpu(store: Store) -> None:
    """NVML and DCGM on a machine name the GPU alike, or by its number: it is not counted twice."""
    by_number = sampled(SECONDS, lambda t: [Reading("DCGM_FI_DEV_FB_USED", "MiBy", 40960)], host__name="h", gpu=0)
    by_id = sampled(SECONDS, lambda t: load(0.5), host__name="h", gpu=0, hw__id="GPU-a")
    found = served_by(store, by_number, by_id).requests
    assert ({40 * GIB}, {"GPU-a"}) == (set(found[n.GPU_MEMORY_USED.name]), set(found["gpu"]))


BY_NUMBER = [Reading("DCGM_FI_DEV_FB_USED", "MiBy", 40960)]


def by_number_and_id(store: Store, number: dict[str, object], *ids: dict[str, object]) -> set[str]:
    """The GPUs that requests are tied to, of which one source names the number and others the id."""
    told = [sampled(SECONDS, lambda t: load(0.5), **one) for one in ids]
    return set(served_by(store, sampled(SECONDS, lambda t: BY_NUMBER, **number), *told).requests["gpu"])


@pytest.mark.parametrize(
    "number",
    [
        {"host__name": "h.example.com", "gpu": 0},
        {"host__name": "H", "index": "nvidia0"},
        {"gpu": 0},
        {"service__instance__id": "h:9400", "gpu": 0},
        {"host__name": "h"},
    ],
    ids=["domain", "case", "no_machine", "instance", "no_number"],
)
def test_a_number_is_the_id_that_another_source_names_there(store: Store, number: dict[str, object]) -> None:
    """Sources spell a machine in several ways, or leave it out where there is only one."""
    assert {"GPU-a"} == by_number_and_id(store, number, {"host__name": "h", "gpu": 0, "hw__id": "GPU-a"})


def test_a_number_that_no_source_ties_to_an_id_stays_a_number(store: Store) -> None:
    """An id whose number nobody names is not taken for the first GPU of its machine."""
    ids = [{"host__name": "h", "hw__id": "GPU-a"}, {"host__name": "h", "gpu": 1, "hw__id": "GPU-b"}]
    assert {"GPU-a, GPU-b, h GPU 0"} == by_number_and_id(store, {"host__name": "h", "gpu": 0}, *ids)


def test_numbers_of_another_machine_are_other_gpus(store: Store) -> None:
    """GPU 0 of one machine is not GPU 0 of the next."""
    ids = {"host__name": "g", "gpu": 0, "hw__id": "GPU-g"}
    assert {"h GPU 0"} == by_number_and_id(store, {"host__name": "h", "gpu": 0}, ids)


@pytest.mark.parametrize("blank", [2147483632, 140737488355330.0, 9223372036854775794])
def test_what_dcgm_says_in_place_of_a_number_is_none(store: Store, blank: float) -> None:
    """A foreign scraper hands on DCGM's blanks; they are no temperature."""
    scraped = metrics(gauge("DCGM_FI_DEV_GPU_TEMP", [(t, blank if t % 2 else 60) for t in SECONDS], Hostname="h"))
    found = served_by(store, scraped)
    assert {60.0} == set(found.requests[n.GPU_TEMPERATURE.name])


def test_a_rate_that_is_called_a_counter_is_a_rate(store: Store) -> None:
    """A foreign scraper believes the exporter's type line; the field's kind is known better."""
    scraped = metrics(counter("DCGM_FI_PROF_PCIE_TX_BYTES", [(t, 5e6) for t in SECONDS], Hostname="h"))
    assert {5e6} == set(served_by(store, scraped).requests[n.GPU_PCIE_TX.name])


def test_counters_are_rates_by_second(store: Store) -> None:
    """Bytes and errors that are counted are told per second; several kinds of error add up."""

    def readings(t: float) -> list[Reading]:
        direction = {"network.io.direction": "transmit"}
        errors = [
            Reading("nvlink_errors", "{error}", int(2 * t), "counter", {"error.type": kind}) for kind in ("a", "b")
        ]
        return [Reading("hw.gpu.io", "By", int(1000 * t), "counter", direction), *errors]

    found = served_by(store, sampled(SECONDS, readings, host__name="h", hw__id="G")).requests
    assert [1000, 4] == pytest.approx(found[[n.GPU_PCIE_TX.name, n.NVLINK_ERRORS.name]].iloc[3].to_list())


def test_uncorrected_errors_are_events_and_other_devices_errors_are_not(store: Store) -> None:
    """A growing count of a GPU is an event each time; `hw.errors` of a disk is no GPU's."""

    def readings(t: float) -> list[Reading]:
        gpu, disk = {"hw.type": "gpu"}, {"hw.type": "physical_disk"}
        kind = {"error.type": "uncorrected"}
        return [
            *load(0.5),
            Reading("hw.errors", "{error}", int(t >= 20), "counter", gpu | kind),
            Reading("hw.errors", "{error}", int(t), "counter", disk | kind),
        ]

    found = served_by(store, sampled(SECONDS, readings, host__name="h", hw__id="G"))
    assert ["gpu_ecc_error"] == [event.name for event in found.events]


def test_more_points_than_the_bound_are_thinned(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the points is read, each the mean of ten, and the requests are still tied."""
    monkeypatch.setattr(gpu_samples, "POINTS", 64)
    dense = sampled(
        [t / 10 for t in range(320)], lambda t: load(0.5 if int(t * 10) % 2 else 0.7), host__name="h", hw__id="G"
    )
    found = served_by(store, dense).requests[n.GPU_UTIL.name]
    assert [0.6] * 10 == pytest.approx(found.to_list())


def test_a_clock_that_runs_ahead_hides_nobody(store: Store) -> None:
    """The latest telemetry is what has come; what a wrong clock dates later is only where there is nothing else."""

    def told(time: int) -> Batch:
        request = metrics_request("gpu_nvml", [({"hw.id": "G"}, time, load(0.5))])
        return Batch(Signal.METRICS, request)

    now = time_ns()
    assert 0 == latest(emptied(store))
    store.load([told(now + 40 * DAY_NS)])
    assert now + 40 * DAY_NS == latest(store)
    store.load([told(now)])
    assert now == latest(store)
