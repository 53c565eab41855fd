"""The lab is trusted because its captures of the recorded faults have the recordings' main figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.lab import FAULTS, write_capture
from collector.files import Options, read
from correlator.join.build import build
from correlator.model import names as n
from correlator.model.records import Batch
from correlator.store import Store
from tests.recorded import FOLDER

WITHIN = {n.LATENCY: 1.5, n.TIME_TO_FIRST_TOKEN: 1.6, n.INPUT_TOKENS: 1.1, n.OUTPUT_TOKENS: 1.15}
"""Ratio of means: like windows of one recording differ by 23 % in time, the seed's machine by as much again."""
RATE = 1.45
"""Ratio of arrivals per second; the recordings' own is 1.3 between neighbouring windows."""


@pytest.mark.parametrize(
    ("recording", "fault", "load"),
    [
        ("s01_token_inflation", "input_token_inflation", {}),
        ("s03_kv_preemption", "kv_cache_preemption", {}),
        ("s09_retrieval_slow", "retrieval_slow", {}),
        ("s12_healthy", "healthy", {}),
        ("s17_prefix_off", "prefix_caching_off", {}),
        ("s22_cpu_contention_b", "host_cpu_contention", {"rate": 2.3, "prompt": 525.0}),
    ],
)
def test_a_simulated_fault_has_the_figures_of_the_recorded_one(
    recording: str, fault: str, load: dict[str, float], tmp_path: Path
) -> None:
    """Arrivals, tokens, first token and latency of both windows by their means; one recording had its own load."""
    made = FAULTS[fault](1.0)
    phases = {"baseline": made.baseline.with_(load=load), "incident": made.incident.with_(load=load)}
    write_capture(replace(made, **phases), tmp_path, seed=1)
    simulated, recorded = _figures(tmp_path), _figures(FOLDER / recording)
    ratios = {key: simulated[key] / recorded[key] for key in recorded}
    limits = {signal.name: limit for signal, limit in WITHIN.items()} | {"rate": RATE}
    assert {} == {key: r for key, r in ratios.items() if not 1 / limits[key[1]] <= r <= limits[key[1]]}


def _figures(folder: Path) -> Mapping[tuple[str, str], float]:
    """Means by (window, signal), and the rate of arrivals: one of both, for none of these faults changes it."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    near = Options(near_unix_nano=int(truth["baseline"][0] * 1e9))
    paths = [str(path) for path in sorted(folder.iterdir()) if path.name != "truth.json"]
    with Store.open() as store:
        store.load(item for item in read(paths, near) if isinstance(item, Batch))
        requests = build(store, []).evidence.requests
    found, count, seconds = {}, 0, 0.0
    for window in ("baseline", "incident"):
        begin, end = truth[window]
        inside = requests[requests["start"].between(begin * 1e9, end * 1e9)]
        found |= {(window, signal.name): float(inside[signal.name].mean()) for signal in WITHIN}
        count, seconds = count + len(inside), seconds + end - begin
    return found | {("both", "rate"): count / seconds}
