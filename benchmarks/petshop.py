"""Faults injected into a shop of 41 nodes that tell metrics only: is the culprit named, and is health left alone?

    python -m benchmarks.petshop [ARCHIVE.tar.xz]

The archive holds a part of the PetShop data (Amazon, CC-BY-4.0): latency, requests and availability of each node every
five minutes, over a fault-free period and over issues. Without one, `../shared/data/rca/petshop-part.tar.xz` is taken;
where that is absent, nothing is measured. Published methods are silent in 0.17 to 0.60 of healthy stretches.

An issue is compared with the first half of the fault-free period of the same traffic, and so is each stretch of the
second half, as long as an issue lasts. Issues under traffic without such a period are left out, and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from rich.console import Console
from rich.table import Table

from benchmarks.rca import SHARED, Answer, answered, arguments, at_hand, evidence_of, shares, unpacked
from collector.attributes import set_attributes
from correlator.join.compare import side_by_side
from correlator.model.evidence import Window
from correlator.model.records import Batch, Signal
from correlator.wiring import Request

ARCHIVE = SHARED / "petshop-part.tar.xz"
PUBLISHED = "0.17 to 0.60"
POINT_S = 300
LASTS = 3
"""Points of each issue that lie after its onset."""


def metrics(path: Path) -> pd.DataFrame:
    """Rows by Unix time, columns by node, metric and statistic."""
    return pd.read_csv(path, header=[0, 1, 2], index_col=0)


def batch(table: pd.DataFrame) -> Batch:
    """The table as plain OTLP: each node is a service that tells how many requests it answered and how long they took,
    failed ones apart.
    """
    request = ExportMetricsServiceRequest()
    for node in table.columns.unique(level=0):
        resource = request.resource_metrics.add()
        set_attributes(resource.resource, {"service.name": node})
        metric = resource.scope_metrics.add().metrics.add(name="http.server.request.duration", unit="s")
        metric.histogram.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        for at, latency, requests, available in _points(table[node]).itertuples():
            failed = round(requests * (1 - available / 100))
            for status, count in ((200, int(requests) - failed), (500, failed)):
                point = metric.histogram.data_points.add(
                    start_time_unix_nano=int(at - POINT_S) * 10**9,
                    time_unix_nano=int(at) * 10**9,
                    count=count,
                    sum=latency * count,
                )
                set_attributes(point, {"http.response.status_code": status})
    return Batch(Signal.METRICS, request.SerializeToString())


def _points(node: pd.DataFrame) -> pd.DataFrame:
    columns = [("latency", "Average"), ("requests", "Sum"), ("availability", "Average")]
    return node.reindex(columns=pd.MultiIndex.from_tuples(columns)).dropna().droplevel(0, axis=1)


def issues(traffic: Path, normal: pd.DataFrame) -> Iterator[Answer]:
    """Each issue under this traffic from its onset on, diagnosed as `tollens diagnose issue --baseline normal` does."""
    before = evidence_of([batch(normal)])
    for path in sorted(traffic.glob("t*/issue_*/target.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        rows = metrics(path.with_name("metrics.csv"))
        after = evidence_of([batch(rows[rows.index > truth["target"]["timestamp"]])])
        symptom, culprit = truth["target"]["metric"], truth["root_cause"]["node"]
        yield answered(side_by_side(before, after), Request(paths=()), symptom, (culprit,))


def healthy(rows: pd.DataFrame) -> Iterator[Answer]:
    """Each stretch of the second half, as long as an issue, against the first half."""
    evidence, half = evidence_of([batch(rows)]), len(rows) // 2
    for first in range(half, len(rows) - LASTS + 1, LASTS):
        windows = _window(rows.index[:half]), _window(rows.index[first : first + LASTS])
        yield answered(evidence, Request(paths=(), baseline_window=windows[0], incident_window=windows[1]))


def _window(ends: pd.Index) -> Window:
    """From the begin of the first point to the end of the last."""
    return Window(int(ends[0] - POINT_S) * 10**9, int(ends[-1]) * 10**9)


def main() -> None:
    """All issues by culprit, as a table, with the shares and chance; then the healthy stretches."""
    parser = arguments("petshop", __doc__, ARCHIVE)
    archive = parser.parse_args().archive
    if not at_hand(archive):
        return
    answers: list[Answer] = []
    stretches: list[Answer] = []
    with unpacked(archive) as folder:
        every = len(list(folder.glob("dataset/*/t*/issue_*/target.json")))
        for path in folder.glob("dataset/*/noissue/metrics.csv"):
            rows = metrics(path)
            answers += issues(path.parents[1], rows.iloc[: len(rows) // 2])
            stretches += healthy(rows)
            nodes = rows.columns.unique(level=0).size
    if not answers:
        parser.error(f"{archive}: expected dataset/TRAFFIC with noissue/metrics.csv and issues")
    show(answers)
    print(f"issues left out, for lack of a fault-free period of the same traffic: {every - len(answers)} of {every}")
    print(*shares(answers, nodes), sep="\n")
    silent, total = sum(a.silent for a in stretches), len(stretches)
    print(f"healthy stretches left alone: {silent} of {total} = {silent / total:.2f} (published {PUBLISHED})")
    print(f"to be read beside it, issues left alone as well: {sum(a.silent for a in answers)} of {len(answers)}")


def show(answers: list[Answer]) -> None:
    """Print a line per culprit and what suffered."""
    table = Table("culprit", "suffers", "n", "symptom seen", "supported", "scoped", "named", title="PetShop")
    for culprit, kind in dict.fromkeys((a.culprit, a.kind) for a in answers):
        mine = [a for a in answers if (a.culprit, a.kind) == (culprit, kind)]
        counts = [
            sum(map(bool, column))
            for column in zip(*((a.symptom, a.supported, a.scoped, a.named) for a in mine), strict=True)
        ]
        table.add_row(culprit, kind, str(len(mine)), *map(str, counts))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
