"""What `/metrics` makes of the states of the parts."""

import re
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from collector.forward import ForwarderState
from collector.gpu_dcgm import DcgmState
from collector.gpu_nvml import GpuDevice, GpuState
from collector.own_metrics import Asked, Totals, dcgm_metrics, forward_metrics, gpu_metrics, scrape_metrics
from collector.prometheus_scrape import ScraperState, TargetState


def page(metrics: Iterable[Metric]) -> dict[str, float]:
    """Name with labels → value, as Prometheus would read it."""
    registry = CollectorRegistry()
    registry.register(Asked(lambda: metrics))
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def target(url: str, up: bool | None, **counts: int) -> TargetState:
    return TargetState(url, "job", up, None, None, "", {key.replace("__", "."): n for key, n in counts.items()})


def test_totals_never_fall() -> None:
    """What is gone, and what begins anew under the same name, stays in the sum."""
    totals = Totals()
    assert {"a": 5} == totals.of([("x", {"a": 2}), ("y", {"a": 3})])
    assert {"a": 5} == totals.of([("x", {"a": 2})])
    assert {"a": 6} == totals.of([("x", {"a": 1})])
    assert {"a": 9, "b": 1} == totals.of([("x", {"a": 4, "b": 1})])
    assert {"a": 10, "b": 1} == totals.of([("y", {"a": 1})])
    assert {"a": 10, "b": 1} == totals.of([])


def test_two_of_the_same_name_are_added() -> None:
    """Targets that differ in labels only share a name; none of them is forgotten."""
    assert {"a": 3} == Totals().of([("x", {"a": 1}), ("x", {"a": 2})])


def test_targets_are_counted_by_state_and_failures_by_kind() -> None:
    """No label tells an address; kinds of failure are few."""
    targets = (target("http://a", True, scrapes=3), target("http://b", False, scrapes=2, failed__timeout=2))
    found = page(scrape_metrics(ScraperState(True, (*targets, target("http://c", None)), {"f": "bad"}), 9, Totals()))
    assert [1, 1, 1] == [found[f'tollens_scrape_targets{{state="{state}"}}'] for state in ("up", "down", "unknown")]
    assert 2 == found['tollens_scrape_failed_total{kind="timeout"}']
    assert (5, 0) == (found["tollens_scrape_scrapes_total"], found["tollens_scrape_stale_series_total"])
    assert (9, 1, 1) == tuple(found[f"tollens_scrape_{name}"] for name in ("targets_limit", "problems", "running"))
    assert "http" not in "".join(found)


def test_gpus_are_counted_with_what_they_do_not_tell() -> None:
    """Missing readings are told by name; what is unknown yet is not told at all."""
    devices = (
        GpuDevice({"gpu": 0}, {"hw.power": "Not Supported"}, {"hw.power": 2}),
        GpuDevice({"gpu": 1}, {"hw.power": "Not Supported"}, {}),
    )
    found = page(gpu_metrics(GpuState(True, "", 1, devices, {2: "lost"}, {"samples": 4, "strange": 1}), Totals()))
    assert (1, 2, 1) == tuple(found[f"tollens_gpu_{name}"] for name in ("available", "devices", "given_up_devices"))
    assert 2 == found['tollens_gpu_missing_readings{reading="hw.power"}']
    assert 2 == found['tollens_gpu_reading_errors_total{reading="hw.power"}']
    assert (4, 0, 1) == tuple(found[f"tollens_gpu_{name}_total"] for name in ("samples", "xids", "strange"))
    unknown = page(dcgm_metrics(DcgmState(None, "", True, None, {})))
    assert ("tollens_gpu_dcgm_available" in unknown, unknown["tollens_gpu_dcgm_profiling"]) == (False, 1)


def test_every_count_of_the_forwarder_is_there_from_the_start() -> None:
    """A counter that appears only with its first event is easily missed."""
    found = page(forward_metrics(ForwarderState("down", {})))
    keys = (ForwarderState.__doc__ or "").partition("`counts`: ")[2]
    names = re.sub(r"\([^)]*\)", "", keys).strip(" .\n").split(",")
    assert {f"tollens_forward_{name.strip()}_total" for name in names} == {name for name in found if "total" in name}
    assert 1 == found["tollens_forward_trouble"]
