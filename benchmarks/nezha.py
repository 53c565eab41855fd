"""Faults injected into a shop of microservices: does the first finding's scope name the culprit?

    python -m benchmarks.nezha [ARCHIVE.tar.xz]

The archive holds one day of Nezha's Train Ticket (MIT licence): CSV of spans and logs, three minutes a fault of which
the first is before it, and of metrics. Without one, `../shared/data/rca/nezha-trainticket-2023-01-29.tar.xz` is taken;
where that is absent, nothing is measured. Published: 0.87 by service. The faults (a returned value altered, an
exception thrown, CPU contended) are not those of the catalogue: this measures scope.

Each fault is compared twice: with the minute before it, in which the fault before that often still shows, and with
the day's fault-free recording, as the published method does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from rich.console import Console
from rich.table import Table

from benchmarks.rca import SHARED, Answer, answered, arguments, at_hand, evidence_of, shares, unpacked
from collector.attributes import set_attributes
from collector.files._emit import SEVERITY
from correlator.join.compare import side_by_side
from correlator.model.evidence import Evidence, Window
from correlator.model.records import Batch, Signal
from correlator.wiring import Request

ARCHIVE = SHARED / "nezha-trainticket-2023-01-29.tar.xz"
PUBLISHED = "; published 0.87"
MINUTES = 3
BEFORE, AFTER = timedelta(minutes=2), timedelta(minutes=MINUTES)
"""More than was recorded on either side of an injection; windows are trimmed to what there is."""
STATEMENT = r"(?:SELECT|INSERT|UPDATE|DELETE) \w+\."
"""A span named so is a call of the database: statement, schema and table, as the JDBC instrumentation names it."""
GAUGES = {
    "CpuUsage(m)": ("k8s.pod.cpu.usage", 1e-3, 0.0, {}),
    "MemoryUsage(Mi)": ("k8s.pod.memory.usage", 2.0**20, 0.0, {}),
    "NodeCpuUsageRate(%)": ("system.cpu.utilization", -1e-2, 1.0, {"cpu.mode": "idle"}),
}
"""Column → metric of the semantic conventions, factor and addend that lead to its unit, attributes of its points."""
LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
LINE = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Fault:
    """What was injected where, and when (UTC)."""

    pod: str
    kind: str
    at: datetime

    @property
    def minutes(self) -> list[str]:
        """Names of the pieces recorded for it; each ends a few seconds into the minute that it is named after."""
        return [f"{self.at + timedelta(minutes=i):%H_%M}" for i in range(MINUTES)]

    @property
    def windows(self) -> tuple[Window, Window]:
        """Baseline and incident."""
        start, begun, end = (int(at.timestamp() * 1e9) for at in (self.at - BEFORE, self.at, self.at + AFTER))
        return Window(start, begun), Window(begun, end)


def service_of(pod: str) -> str:
    """A pod's name without the hashes of its replica set and of itself."""
    return pod.rsplit("-", 2)[0]


def faults(day: Path) -> list[Fault]:
    """The day's faults, at their written times: the numbers beside them are hours off before noon."""
    by_hour = json.loads(next(day.glob("*-fault_list.json")).read_text(encoding="utf-8"))
    return [
        Fault(one["inject_pod"], one["inject_type"], datetime.fromisoformat(one["inject_time"]).replace(tzinfo=UTC))
        for hour in by_hour.values()
        for one in hour
    ]


def services(day: Path) -> set[str]:
    """Services that have spans: any of them could be named."""
    pods = pd.concat(pd.read_csv(path, usecols=["PodName"]) for path in day.glob("trace/*.csv"))["PodName"].unique()
    return {service_of(pod) for pod in pods}


def located(evidence: Evidence, fault: Fault) -> Answer:
    """One fault diagnosed, with what lies before its injection as baseline and what lies after as incident."""
    baseline, incident = fault.windows
    request = Request(paths=(), baseline_window=baseline, incident_window=incident)
    return answered(evidence, request, fault.kind, (service_of(fault.pod), fault.pod))


def located_against(normal: Evidence, evidence: Evidence, fault: Fault) -> Answer:
    """One fault diagnosed from its injection on, as `tollens diagnose fault --baseline normal` does."""
    compared = side_by_side(normal, _since(evidence, fault.windows[1].start))
    return answered(compared, Request(paths=()), fault.kind, (service_of(fault.pod), fault.pod))


def _since(evidence: Evidence, moment: int) -> Evidence:
    requests, series, services = (
        frame[frame["start"] >= moment] if len(frame) else frame
        for frame in (evidence.requests, evidence.series, evidence.services)
    )
    return replace(evidence, requests=requests, series=series, services=services)


def fault_free(folder: Path) -> Iterator[Batch]:
    """The spans and logs that were recorded while nothing was injected; there are no metrics of that time."""
    spans, logs = (_read(folder.glob(f"construct_data/*/{kind}/*_{kind}.csv")) for kind in ("trace", "log"))
    nodes = dict(zip(logs["PodName"], logs["Node"], strict=True))
    yield Batch(Signal.TRACES, _traces(spans, nodes))
    yield Batch(Signal.LOGS, _logs(logs, nodes))


def batches(day: Path, fault: Fault) -> Iterator[Batch]:
    """The fault's minutes as plain OTLP: spans, logs, and metrics of the same time."""
    pieces = ([day / kind / f"{minute}_{kind}.csv" for minute in fault.minutes] for kind in ("trace", "log"))
    spans, logs = map(_read, pieces)
    nodes = dict(zip(logs["PodName"], logs["Node"], strict=True))
    yield Batch(Signal.TRACES, _traces(spans, nodes))
    yield Batch(Signal.LOGS, _logs(logs, nodes))
    yield Batch(Signal.METRICS, _metrics(day / "metric", fault, nodes))


def _read(paths: Iterable[Path]) -> pd.DataFrame:
    """Rows of all pieces once, as texts; one log line of the day is broken, and skipped."""
    parts = [pd.read_csv(path, dtype=str, on_bad_lines="skip") for path in paths]
    return pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)


def _resource(pod: str, nodes: Mapping[str, str]) -> dict[str, str]:
    node = {"k8s.node.name": nodes[pod]} if pod in nodes else {}
    return {"service.name": service_of(pod), "k8s.pod.name": pod, **node}


def _traces(spans: pd.DataFrame, nodes: Mapping[str, str]) -> bytes:
    request = ExportTraceServiceRequest()
    for pod, its in spans.assign(kind=kinds(spans)).groupby("PodName"):
        of_pod = request.resource_spans.add()
        set_attributes(of_pod.resource, _resource(pod, nodes))
        scope = of_pod.scope_spans.add()
        for row in its.itertuples():
            span = scope.spans.add(
                trace_id=bytes.fromhex(row.TraceID),
                span_id=bytes.fromhex(row.SpanID),
                parent_span_id=b"" if row.ParentID == "root" else bytes.fromhex(row.ParentID),
                name=row.OperationName,
                kind=row.kind,
                start_time_unix_nano=int(row.StartTimeUnixNano),
                end_time_unix_nano=int(row.EndTimeUnixNano),
            )
            if row.kind == Span.SPAN_KIND_CLIENT and re.match(STATEMENT, row.OperationName):
                set_attributes(span, {"db.system.name": "other_sql"})
    return request.SerializeToString()


def kinds(spans: pd.DataFrame) -> pd.Series:
    """The kind of each span, which the recording left out: where a pod's spans begin is a server, and what is above
    it in another pod, or is a statement of SQL, is a client.
    """
    caller = spans["ParentID"].map(dict(zip(spans["SpanID"], spans["PodName"], strict=True)))
    serves = (spans["ParentID"] == "root") | (caller.notna() & (caller != spans["PodName"]))
    calls = spans["SpanID"].isin(spans.loc[serves, "ParentID"]) | spans["OperationName"].str.match(STATEMENT)
    internal = pd.Series(Span.SPAN_KIND_INTERNAL, spans.index)
    return internal.mask(calls, Span.SPAN_KIND_CLIENT).mask(serves, Span.SPAN_KIND_SERVER)


def _logs(logs: pd.DataFrame, nodes: Mapping[str, str]) -> bytes:
    request = ExportLogsServiceRequest()
    for pod, its in logs.groupby("PodName"):
        of_pod = request.resource_logs.add()
        set_attributes(of_pod.resource, _resource(pod, nodes))
        scope = of_pod.scope_logs.add()
        for row in its.itertuples():
            body = LINE.raw_decode(row.Log)[0]["log"].rstrip("\n")
            level = LEVEL.search(body)
            record = scope.log_records.add(
                time_unix_nano=max(int(row.TimeUnixNano), 0),
                severity_text=level[0] if level else "",
                severity_number=SEVERITY[level[0]] if level else 0,
                trace_id=bytes.fromhex(row.TraceID),
                span_id=bytes.fromhex(row.SpanID),
            )
            record.body.string_value = body
    return request.SerializeToString()


def _metrics(folder: Path, fault: Fault, nodes: Mapping[str, str]) -> bytes:
    request = ExportMetricsServiceRequest()
    start, end = fault.windows[0].start, fault.windows[1].end
    for path in sorted(folder.glob("*_metric.csv")):
        rows = pd.read_csv(path)
        rows = rows[(rows["TimeStamp"] * 10**9).between(start, end)]
        of_pod = request.resource_metrics.add()
        set_attributes(of_pod.resource, _resource(path.name.removesuffix("_metric.csv"), nodes))
        scope = of_pod.scope_metrics.add()
        for column, (name, factor, addend, attributes) in GAUGES.items():
            metric = scope.metrics.add(name=name)
            for at, value in rows[["TimeStamp", column]].dropna().itertuples(index=False):
                unit = value * factor + addend
                point = metric.gauge.data_points.add(time_unix_nano=int(at) * 10**9, as_double=unit)
                set_attributes(point, attributes)
    return request.SerializeToString()


def main() -> None:
    """All faults, as a table, with the shares and chance."""
    parser = arguments("nezha", __doc__, ARCHIVE)
    archive = parser.parse_args().archive
    if not at_hand(archive):
        return
    table = Table("culprit", "fault", "symptom", "first", "its scope", "named", title="Nezha Train Ticket")
    with unpacked(archive) as folder:
        day = next(folder.glob("rca_data/*/"), None)
        if day is None:
            parser.error(f"{archive}: expected a folder rca_data/DAY of trace, log and metric")
        if not any(folder.glob("construct_data/*/trace/*_trace.csv")):
            parser.error(f"{archive}: expected a folder construct_data/DAY of trace and log")
        normal, candidates = evidence_of(fault_free(folder)), services(day)
        joined = ((evidence_of(batches(day, fault)), fault) for fault in faults(day))
        both = [(located(evidence, fault), located_against(normal, evidence, fault)) for evidence, fault in joined]
    before, answers = zip(*both, strict=True)
    for a in answers:
        scope = ", ".join(f"{key}={value}" for key, value in a.scope.items())
        table.add_row(a.culprit, a.kind, a.symptom or "none", a.first, scope, "yes" if a.named else "no")
    Console(width=160).print(table)
    print("against the fault-free recording:", *shares(answers, len(candidates), PUBLISHED), sep="\n")
    print("against the minute before:", *shares(before, len(candidates), PUBLISHED), sep="\n")


if __name__ == "__main__":
    main()
