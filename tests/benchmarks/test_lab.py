"""The fault lab writes captures that the front door reads, that add up, and whose truth the diagnosis finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.corpus import seen
from benchmarks.lab import FAULTS, write_capture
from benchmarks.lab.patterns import whole
from benchmarks.lab.together import together
from benchmarks.scores import hit, silent, supported
from collector.files import Options, read
from correlator.join.build import build
from correlator.model import names as n
from correlator.model.evidence import Evidence
from correlator.model.records import Batch, Problem
from correlator.store import Store
from hypotheses._registry import all_hypotheses


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of nothing wrong."""
    return _written("healthy", tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with a restart between its windows, after which KV blocks are few."""
    return _written("kv_cache_preemption", tmp_path_factory.mktemp("kv"))


def _written(fault: str, folder: Path, seed: int = 1) -> Path:
    write_capture(FAULTS[fault](1.0), folder, seed)
    return folder


def _evidence(folder: Path) -> Evidence:
    with Store.open() as store:
        store.load(item for item in read([str(folder)]) if isinstance(item, Batch))
        return build(store, []).evidence


def _problems(folder: Path) -> list[object]:
    near = json.loads((folder / "truth.json").read_text(encoding="utf-8"))["baseline"][0]
    options = Options(near_unix_nano=int(near * 1e9))
    paths = [str(path) for path in whole(folder)]
    return [item for item in read(paths, options) if isinstance(item, Problem)]


def test_every_file_is_read_without_a_problem(restarted: Path) -> None:
    """The readers of the recorded captures take the simulated ones as they are, restart and all."""
    assert [] == _problems(restarted)


@pytest.mark.parametrize("fault", ["gpu_hardware_fault", "replica_imbalance", "model_load_failure"])
def test_what_only_some_worlds_write_is_read_without_a_problem(fault: str, tmp_path: Path) -> None:
    """Pages of a GPU and of a second engine, the kernel's log, engines that died or never came up."""
    assert [] == _problems(_written(fault, tmp_path))


def test_a_gpu_that_fails_is_told_of_by_all_who_see_it(tmp_path: Path) -> None:
    """Kernel log, DCGM's page and engine log tell of one fault; whoever called meanwhile got an error."""
    folder = _written("gpu_hardware_fault", tmp_path)
    first, last = (sorted((folder / "dcgm").glob("*.prom"))[i].read_text(encoding="utf-8") for i in (0, -1))
    xid = re.compile(r"^DCGM_FI_DEV_XID_ERRORS\{.*\} (\d+)$", re.MULTILINE)
    assert [["0"], ["48"]] == [xid.findall(page) for page in (first, last)]
    assert "Xid (PCI:0000:3b:00): 48" in (folder / "kernel.log").read_text(encoding="utf-8")
    assert "uncorrectable ECC error" in (folder / "vllm.log").read_text(encoding="utf-8")
    evidence = _evidence(folder)
    failed = evidence.requests[evidence.requests[n.ERROR.name] > 0]
    fault = next(event for event in evidence.events if event.name == "xid")
    assert len(failed) > 20
    assert failed["end"].min() >= fault.unix_nano


def test_two_at_once_change_both_worlds() -> None:
    """Each of the two makes its own change to one baseline, and what both would change is refused."""
    both = FAULTS["retrieval_slow_and_kv_cache_preemption"](1.0)
    slow, few = FAULTS["retrieval_slow"](1.6), FAULTS["kv_cache_preemption"](1.0)
    assert ("retrieval_slow", "kv_cache_preemption") == both.truths
    assert slow.baseline.client == both.baseline.client
    assert (few.baseline.load, few.baseline.engine) == (both.baseline.load, both.baseline.engine)
    assert (slow.incident.client, few.incident.engine) == (both.incident.client, both.incident.engine)
    assert both.restart


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("retrieval_slow", "retrieval_slow", "both change"),
        ("kv_cache_preemption", "traffic_surge", "baselines differ"),
        ("input_token_inflation", "prefix_caching_off", "sets from the start"),
    ],
)
def test_two_that_stand_in_each_others_way_are_refused(first: str, second: str, why: str) -> None:
    """The same change twice, two baselines, and a change of what the other sets: no such pair has a meaning."""
    with pytest.raises(ValueError, match=why):
        together(FAULTS[first](1.0), FAULTS[second](1.0))


def test_a_decoy_beside_a_fault_is_no_truth() -> None:
    """A deploy at the onset of a surge is in the world, and only the surge is true."""
    scenario = FAULTS["traffic_surge_and_healthy_new_version"](1.0)
    assert ("traffic_surge", ("traffic_surge",)) == (scenario.truth, scenario.truths)
    assert scenario.baseline.client.version != scenario.incident.client.version


def test_the_ledger_of_simulated_requests_adds_up(healthy: Path) -> None:
    """The parts of each request sum to its latency, and none is negative."""
    requests = _evidence(healthy).requests
    parts = requests[[c for c in requests.columns if c.startswith("ledger.")]]
    assert len(requests) > 300
    assert parts.min().min() >= -1e-9
    np.testing.assert_allclose(requests[n.LATENCY.name], parts.sum(axis=1), atol=1e-6)


def test_nothing_is_supported_where_nothing_is_wrong() -> None:
    """A healthy pair of windows keeps the diagnosis silent, told where it lies or not."""
    assert [True, True] == [silent(one) for one in seen(("healthy", 1, "recorded"), 1.0, ["given", "found"])]


def test_a_fault_is_found() -> None:
    """The simulated truth is first and supported."""
    (one,) = seen(("kv_cache_preemption", 1, "recorded"), 1.0, ["given"])
    assert (True, True) == (hit(one), "kv_cache_preemption" in supported(one))


def test_pages_and_spans_tell_the_same_story(healthy: Path) -> None:
    """The tokens that the engine's last page counted are those of its spans: nothing was left unfinished."""
    page = max((healthy / "scrape").glob("*.prom")).read_text(encoding="utf-8")
    counted = re.search(r"^vllm:generation_tokens_total\{.*\} (\S+)$", page, re.MULTILINE)
    assert counted is not None
    assert float(counted[1]) == _evidence(healthy).requests[n.OUTPUT_TOKENS.name].sum()


def test_the_same_seed_gives_the_same_bytes(healthy: Path, tmp_path: Path) -> None:
    """A capture can be made again from its seed; another seed gives another one."""
    again, other = _written("healthy", tmp_path / "again"), _written("healthy", tmp_path / "other", seed=2)
    assert _bytes(healthy) == _bytes(again)
    assert _bytes(healthy) != _bytes(other)


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_names_a_cause_of_the_catalogue(fault: str) -> None:
    """Truths and their accepted companions are hypotheses that exist, or none."""
    scenario = FAULTS[fault](1.0)
    known = {h.id for h in all_hypotheses()} | {"none"}
    assert fault == scenario.name
    assert {scenario.truth, *scenario.also, *scenario.truths} <= known


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_severity_changes_what_a_fault_does(fault: str) -> None:
    """A harder fault is another world than a mild one, unless nothing happens in either."""
    mild, hard = FAULTS[fault](0.5), FAULTS[fault](1.5)
    unscaled = {"healthy", "healthy_restart", "healthy_new_version", "healthy_gpu", "model_load_failure"}
    unscaled |= {"gpu_hardware_fault"}
    assert (mild == hard) == (fault in unscaled)
