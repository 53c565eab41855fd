"""The benchmark on PetShop reads tables of its shape into OTLP, sees what is slow, and is skipped without data."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pandas as pd
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from benchmarks import petshop
from benchmarks.petshop import LASTS, batch, healthy, issues, metrics
from tests.benchmarks.test_rca import run_on

COLUMNS = [("latency", "Average"), ("requests", "Sum"), ("availability", "Average")]
POINTS, BEGAN = 60, 1_700_000_100


def table(begun: int, points: int, seconds: float, seed: int) -> pd.DataFrame:
    """Points of two nodes, one of which is idle; latencies vary by a few percent."""
    chance = random.Random(seed)
    rows = [(seconds * chance.uniform(0.97, 1.03), 400, 99.5, None, None, None) for _ in range(points)]
    columns = pd.MultiIndex.from_tuples(
        [(node, *column) for node in ("shop", "idle") for column in COLUMNS],
        names=["microservice", "metric", "statistic"],
    )
    times = pd.Index([begun + 300 * i for i in range(points)], name="unix_timestamp", dtype=float)
    return pd.DataFrame(rows, times, columns, dtype=float)


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fault-free period, and an issue that is ten times as slow from its third point on."""
    folder = tmp_path_factory.mktemp("dataset") / "little"
    issue, begun = folder / "test" / "issue_0", BEGAN - 10_000
    for path in (folder / "noissue", issue):
        path.mkdir(parents=True)
    table(BEGAN, POINTS, 0.1, 1).to_csv(folder / "noissue" / "metrics.csv")
    told = pd.concat([table(begun, 2, 0.1, 2), table(begun + 600, 3, 1.0, 3)])
    told.to_csv(issue / "metrics.csv")
    truth = {
        "target": {"node": "shop", "metric": "latency", "timestamp": begun + 400},
        "root_cause": {"node": "shop", "metric": None},
    }
    (issue / "target.json").write_text(json.dumps(truth), encoding="utf-8")
    return folder


def test_a_point_becomes_counts_and_sums() -> None:
    """Answered and failed requests come apart, each with its time, over the five minutes that the point ends."""
    rows = table(BEGAN, 1, 0.1, 1)
    [of_shop, of_idle] = ExportMetricsServiceRequest.FromString(batch(rows).payload).resource_metrics
    good, bad = of_shop.scope_metrics[0].metrics[0].histogram.data_points
    took = rows[("shop", "latency", "Average")].iloc[0]
    assert (398, 2) == (good.count, bad.count)
    assert [200, 500] == [point.attributes[0].value.int_value for point in (good, bad)]
    assert pytest.approx(398 * took) == good.sum
    assert (300 * 10**9, BEGAN * 10**9) == (good.time_unix_nano - good.start_time_unix_nano, good.time_unix_nano)
    assert [] == list(of_idle.scope_metrics[0].metrics[0].histogram.data_points)


def test_an_issue_is_seen(traffic: Path) -> None:
    """What is ten times as slow as the fault-free period is a symptom, and nobody is named from metrics alone."""
    normal = metrics(traffic / "noissue" / "metrics.csv")
    [answer] = issues(traffic, normal)
    told, ratio = answer.symptom.split("×")
    assert ("mean request_latency ", pytest.approx(10, rel=0.05)) == (told, float(ratio))
    assert ("shop", "latency", False, False) == (answer.culprit, answer.kind, answer.scoped, answer.silent)


def test_health_is_left_alone_and_what_is_slow_is_not(traffic: Path) -> None:
    """Each stretch of the second half is diagnosed; only the one that was made slow is spoken of."""
    rows = metrics(traffic / "noissue" / "metrics.csv")
    rows.iloc[POINTS // 2 + LASTS : POINTS // 2 + 2 * LASTS, 0] *= 10
    assert [True, False, *[True] * 8] == [answer.silent for answer in healthy(rows)]


def test_the_figures_stand_beside_chance(
    traffic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints localisation with the chance line, silence on health, and silence on issues beside it."""
    run_on(petshop, traffic, "dataset/little", tmp_path, monkeypatch)
    told = capsys.readouterr().out
    assert "culprit in the first finding's scope: 0 of 1 = 0.00 (by chance 0.50, 1 in 2)\n" in told
    assert "healthy stretches left alone: 10 of 10 = 1.00 (published 0.17 to 0.60)\n" in told
    assert "issues left alone as well: 0 of 1\n" in told
