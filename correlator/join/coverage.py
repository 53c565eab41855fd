"""What the evidence stands on: what was read, what was seen in both windows, and what was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pandas as pd

from correlator.join.adapters import SHOWN
from correlator.join.intake import OF_FILES, Intake
from correlator.join.ties import interval
from correlator.join.within import RECORDED, Within, during
from correlator.model.evidence import Coverage, Window
from correlator.model.names import CLOCK_SKEW, SIGNALS
from correlator.model.records import Problem
from correlator.store import Store

TABLES = {
    "spans": "otel_traces",
    "log_records": "otel_logs",
    "gauge_points": "otel_metrics_gauge",
    "sum_points": "otel_metrics_sum",
    "histogram_points": "otel_metrics_histogram",
    "exponential_histogram_points": "otel_metrics_exponential_histogram",
    "summary_points": "otel_metrics_summary",
}
FAULT_METRICS = "'tollens_gpu_available', 'DCGM_FI_DEV_XID_ERRORS', 'DCGM_FI_DEV_XID_ERROR'"
"""Whoever sends these would tell of faults, too: our sampler listens for Xids, DCGM has the last one as a gauge."""
PLATFORM = "'kernel', 'kubernetes', 'nccl', 'otelcol'"
"""Whose logs are not an application's: that they tell of no retry or time-out means nothing."""
ENGINES = "ServiceName IN ('vllm', 'sglang', 'tgi', 'llama.cpp', 'ollama')"
SOURCES = {
    "otel_traces": {"traces": ""},
    "otel_logs": {
        "engine_log": ENGINES,
        "application_log": f"NOT {ENGINES} AND ServiceName NOT IN ({PLATFORM})",
        "cluster_events": "ServiceName = 'kubernetes'",
        "nccl_log": "ServiceName = 'nccl'",
        "collector_log": "ServiceName = 'otelcol'",
        "kernel_log": "ServiceName = 'kernel'",
    },
    "otel_metrics_gauge": {
        "gpu_faults": f"MetricName IN ({FAULT_METRICS}) AND {RECORDED}",
        "process_metrics": f"MetricName = 'process_start_time_seconds' AND {RECORDED}",
        "adapter_metrics": f"MetricName = '{SHOWN}' AND {RECORDED}",
        "engine_metrics": f"match(MetricName, '^(vllm|sglang|tgi|trtllm)[:_]') AND {RECORDED}",
    },
}
"""Kinds of source by the table that holds their records: which of its rows are theirs, all where nothing is said."""
MESSAGES = 50
"""Problems spelled out; the rest is only counted."""


def to_coverage(
    store: Store,
    requests: pd.DataFrame,
    series: pd.DataFrame,
    spans: pd.DataFrame,
    share: float,
    problems: Iterable[Problem],
    extents: Mapping[str, Window],
    within: Within = None,
    intake: Intake = OF_FILES,
) -> Coverage:
    """Counts and intervals; `signals` lists every canonical signal that has a value somewhere. `extents`: see
    `read_extents`."""
    problems, extents = tuple(problems), dict(extents)
    if "traces" in extents and _errors_speak(spans):
        extents["error_texts"] = extents["traces"]
    kinds: Counter[str] = Counter(intake.problems)
    for problem in problems:
        kinds[problem.kind] += problem.count
    kinds["missing_parent"] += int(spans["orphan"].sum()) if len(spans) else 0
    return Coverage(
        records=_records(store, within),
        signals=_signals(requests, series),
        watched=frozenset(extents),
        extents=extents,
        problems={kind: count for kind, count in sorted(kinds.items()) if count},
        losses_known=intake.known,
        outages=intake.outages,
        messages=(*intake.messages, *(str(p) for p in problems[:MESSAGES])),
        orphan_share=float(spans["orphan"].mean()) if len(spans) else 0.0,
        sampled_traces=len(requests) if share < 1 else None,
        clock_skew_s=_clock_skew(requests),
    )


def _clock_skew(requests: pd.DataFrame) -> float | None:
    """Median by which serving spans begin before their client's call: above zero only if most of them do.

    None where no call was seen from both sides.
    """
    skew = requests[CLOCK_SKEW.name].dropna() if CLOCK_SKEW.name in requests else pd.Series(dtype=float)
    return float(skew.median()) if len(skew) else None


def _errors_speak(spans: pd.DataFrame) -> bool:
    """Failed spans say why, or none failed: only then does a missing error text mean anything."""
    failed = spans[spans["failed"].astype(bool)]
    return failed.empty or bool(((failed["message"] + failed["exception"]).str.strip() != "").any())


def _signals(requests: pd.DataFrame, series: pd.DataFrame) -> dict[str, Mapping[str, object]]:
    found: dict[str, Mapping[str, object]] = {}
    known_requests, known_series = requests.count().to_dict(), series.count().to_dict()
    for name in SIGNALS:
        rows_requests, rows_series = int(known_requests.get(name, 0)), int(known_series.get(name, 0))
        if rows_requests or rows_series:
            sources = [s for s, rows in (("requests", rows_requests), ("series", rows_series)) if rows]
            every = interval(series, name) if rows_series > 1 else None
            found[name] = {"sources": sources, "interval_s": every, "rows": max(rows_requests, rows_series)}
    return found


def _records(store: Store, within: Within) -> dict[str, int]:
    union = " UNION ALL ".join(
        f"SELECT '{name}' AS name, count() AS n FROM {table} WHERE {during(_time(table), within)}"
        for name, table in TABLES.items()
    )
    counts = store.query(union)
    return {name: int(counts.loc[counts["name"] == name, "n"].iloc[0]) for name in TABLES}


def _time(table: str) -> str:
    return "TimeUnix" if "metrics" in table else "Timestamp"


def read_extents(store: Store, spans: pd.DataFrame, within: Within) -> dict[str, Window]:
    """From the first record to the last of each kind of source that was there at all."""
    union = " UNION ALL ".join(
        f"SELECT arrayJoin([{', '.join(_extent(name, _time(table), which) for name, which in sources.items())}]) AS s"
        f" FROM {table} WHERE {during(_time(table), within)}"
        for table, sources in SOURCES.items()
    )
    rows = store.query(f"SELECT s.1 AS source, s.2 AS low, s.3 AS high, s.4 AS n FROM ({union})")
    found = {row.source: Window(int(row.low), int(row.high) + 1) for row in rows.itertuples() if row.n > 0}
    named = spans.loc[spans["instance"] != "", "start"] if len(spans) else spans
    return found | ({"instance_ids": Window(int(named.min()), int(named.max()) + 1)} if len(named) else {})


def _extent(name: str, time: str, which: str) -> str:
    low, high, count = (
        (f"minIf({time}, {which})", f"maxIf({time}, {which})", f"countIf({which})")
        if which
        else (f"min({time})", f"max({time})", "count()")
    )
    return f"('{name}', toUnixTimestamp64Nano({low}), toUnixTimestamp64Nano({high}), {count})"
