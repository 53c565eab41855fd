"""Telemetry that is lost while the service looks well: when that is a symptom, and when it cannot be told yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from correlator.join.losses import whole_by_now
from correlator.join.symptom import find_symptom
from correlator.join.windows import with_found_windows
from correlator.model import names as n
from correlator.model.evidence import Evidence, Kind
from tests.cases.s19_otlp import TOO_LARGE, refused
from tests.correlator.join.synthetic import cut, service, slower
from tests.correlator.join.telemetry import at
from tests.test_formats import evidence

LOST = n.TELEMETRY_LOST.name


def torn(share: float, since: float = 80) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """From a second on, a share of the traces is torn."""

    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        hit = (requests["t"] >= since) & (np.random.default_rng(1).random(len(requests)) < share)
        return requests.assign(**{LOST: hit.astype(float)})

    return fault


def test_torn_traces_of_a_service_that_is_well_are_a_symptom() -> None:
    """A third torn, and nothing else: of kind telemetry, with an interval."""
    symptom = find_symptom(cut(service(seed=11, rate=10, fault=torn(0.3))))
    assert symptom is not None
    assert (Kind.TELEMETRY, n.TELEMETRY_LOST) == (symptom.kind, symptom.signal)
    assert 0.2 < symptom.change.low < 0.3 < symptom.change.high < 0.4


def test_a_few_torn_traces_are_none() -> None:
    """Two in a hundred leave the tail known."""
    assert find_symptom(cut(service(seed=11, rate=10, fault=torn(0.02)))) is None


@pytest.mark.parametrize("kind", [None, Kind.LATENCY])
def test_what_the_service_suffers_comes_first(kind: Kind | None) -> None:
    """Where latency doubled as well that is the symptom, however much is torn."""
    evidence = cut(service(seed=11, rate=10, fault=lambda rows: torn(0.9)(slower(2.0, 80)(rows))))
    symptom = find_symptom(evidence, kind)
    assert symptom is not None and Kind.LATENCY is symptom.kind


def test_windows_are_found_for_the_service_first() -> None:
    """Torn from second 80 on and slow from second 120 on: the windows are those of the latency."""
    found = with_found_windows(service(240, seed=3, rate=10, fault=lambda rows: torn(0.9)(slower(2.5, 120)(rows))))
    assert found.symptom is not None
    assert Kind.LATENCY is found.symptom.kind
    assert at(120) == pytest.approx(found.symptom.onset, abs=20e9)


def test_windows_are_found_for_what_is_lost() -> None:
    """With nothing else, the onset of the loss is found within two blocks."""
    found = with_found_windows(service(240, seed=3, rate=10, fault=torn(0.6, 150)))
    assert found.symptom is not None
    assert Kind.TELEMETRY is found.symptom.kind
    assert at(150) == pytest.approx(found.symptom.onset, abs=20e9)


def test_it_can_be_asked_for() -> None:
    """Its change is told even within noise; without any measure of loss there is none."""
    symptom = find_symptom(cut(service(seed=11, rate=10, fault=torn(0.01))), Kind.TELEMETRY)
    assert symptom is not None and symptom.change.low < 0.05
    assert find_symptom(cut(service(seed=11)), Kind.TELEMETRY) is None


def test_the_latest_traces_may_be_whole_yet() -> None:
    """Whole traces last up to ten seconds: what is torn in the last ten is unknown, what was torn before is torn."""
    start = np.arange(100) * 10**9
    rows = pd.DataFrame({"start": start, "end": start + 10 * 10**9, LOST: np.where(np.arange(100) % 10 == 0, 1.0, 0)})
    rows.loc[90:, LOST] = 1.0
    known = whole_by_now(rows)[LOST]
    assert known[:90].tolist() == rows[LOST][:90].tolist()
    assert known[90:].isna().all()


def refusals(folder: Path, dropped: int) -> Evidence:
    for name, content in refused(TOO_LARGE, (dropped,)).items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return evidence(folder)


def test_what_the_collectors_log_dropped_is_a_share_of_all_spans(tmp_path: Path) -> None:
    """So many dropped every ten seconds beside those that arrive: their share, weighed by spans."""
    series = cut(refusals(tmp_path, 100), 120, 240).series
    weight = series[f"n.{n.TELEMETRY_REFUSED.name}"]
    lost = (series[n.TELEMETRY_REFUSED.name] * weight).groupby(series["period"], observed=True).sum()
    assert [0.0, 1200.0] == [lost["baseline"], lost["incident"]]
    assert 1200 + 80 == pytest.approx(weight[series["period"] == "incident"].sum(), abs=4)


def test_a_refused_batch_now_and_then_is_none(tmp_path: Path) -> None:
    """Less than a twentieth of the spans that arrive."""
    series = refusals(tmp_path, 0)
    assert find_symptom(cut(series, 120, 240)) is None
