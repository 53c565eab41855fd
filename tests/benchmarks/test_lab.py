"""The fault lab writes captures that the front door reads, that add up, and whose truth the diagnosis finds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import NONE, judged, telemetry_of
from benchmarks.lab import FAULTS, write_capture
from collector.files import read
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


def test_every_file_is_read_without_a_problem(restarted: Path) -> None:
    """The readers of the recorded captures take the simulated ones as they are, restart and all."""
    paths = [str(path) for path in telemetry_of(restarted)]
    assert [] == [item for item in read(paths) if isinstance(item, Problem)]


def test_the_ledger_of_simulated_requests_adds_up(healthy: Path) -> None:
    """The parts of each request sum to its latency, and none is negative."""
    requests = _evidence(healthy).requests
    parts = requests[[c for c in requests.columns if c.startswith("ledger.")]]
    assert len(requests) > 300
    assert parts.min().min() >= -1e-9
    np.testing.assert_allclose(requests[n.LATENCY.name], parts.sum(axis=1), atol=1e-6)


def test_nothing_is_supported_where_nothing_is_wrong(healthy: Path) -> None:
    """A healthy pair of windows keeps the diagnosis silent."""
    case = judged(healthy, "given", telemetry_of(healthy), given=True)
    assert ((), NONE) == (case.supported, case.first)


def test_a_fault_is_found(restarted: Path) -> None:
    """The simulated truth is first and supported."""
    case = judged(restarted, "given", telemetry_of(restarted), given=True)
    assert (True, True) == (case.hit, "kv_cache_preemption" in case.supported)


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
    assert {scenario.truth, *scenario.also} <= known


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_severity_changes_what_a_fault_does(fault: str) -> None:
    """A harder fault is another world than a mild one, unless nothing happens in either."""
    mild, hard = FAULTS[fault](0.5), FAULTS[fault](1.5)
    unscaled = {"healthy", "healthy_restart", "healthy_new_version"}
    assert (mild == hard) == (fault in unscaled)
