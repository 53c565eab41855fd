"""Spans of at most `limit` traces, chosen by trace-id hash, so that a diagnosis costs the same at any volume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from correlator.join.aliases import span_attributes
from correlator.join.within import Within, during
from correlator.store import Store

TRACES = 2_000
"""Traces read for a diagnosis: 1,000 a window keep the standard error of a mean near 3 % of its deviation,
far below the variation between blocks."""
SCOPE_KEYS = 40
"""Attribute keys considered for scope."""
SCOPE_VALUES = 50
"""A key with more values than this identifies requests instead of grouping them."""
RESOURCES = 1_000
"""Resources (processes, pods) of which the attributes are read."""

TEXTS = {
    "operation": ("gen_ai.operation.name", "llm.request.type"),
    "span_kind": ("openinference.span.kind", "traceloop.span.kind"),
    "db": ("db.system.name", "db.system"),
    "vector": ("db.vector.query.top_k", "db.vector.query.id"),
    "status": ("http.response.status_code", "http.status_code", "rpc.grpc.status_code"),
    "error_type": ("error.type", "exception.type"),
    "finish_reason": ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "llm.finish_reason"),
    "model": ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
    "fingerprint": ("openai.response.system_fingerprint", "gen_ai.openai.response.system_fingerprint"),
    "output_type": (
        "gen_ai.output.type",
        "gen_ai.openai.request.response_format",
        "gen_ai.request.structured_output_schema",
    ),
    "resend": ("http.request.resend_count",),
    "evaluation": ("gen_ai.evaluation.name",),
    "dimension": ("gen_ai.embeddings.dimension.count", "db.milvus.search.query_vector_dimension"),
    "url": ("url.path", "http.target", "url.full", "http.url"),
}


@dataclass(frozen=True, slots=True)
class Spans:
    """`table` has one row a span; `share` is the part of all traces that was read; `scope` is tall.

    `resources` are the resource attributes by the hash in the table's column `resource`.
    """

    table: pd.DataFrame
    scope: pd.DataFrame
    share: float
    resources: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


def read_spans(store: Store, limit: int = TRACES, within: Within = None, resources: bool = False) -> Spans:
    """Spans with canonical attributes as columns, duplicates of (trace, span) dropped; if asked with `resources`."""
    inside = during("Timestamp", within)
    table, modulus = _sampled(store, limit, inside)
    store.query(_CHOOSE.format(table=table, inside=inside), modulus=modulus)
    table = store.query(_STATEMENT).drop_duplicates(["trace_id", "span_id"], ignore_index=True)
    scope = store.query(_SCOPE, keys=SCOPE_KEYS, values=SCOPE_VALUES)
    by_hash = store.query(_RESOURCES).itertuples() if resources else ()
    store.query("DROP TABLE chosen")
    return Spans(table, scope, 1.0 / modulus, {int(row.resource): dict(row.attributes) for row in by_hash})


def _sampled(store: Store, limit: int, inside: str) -> tuple[str, int]:
    """The table to choose from and the modulus of the hash: of many traces the sixteenth part holds enough."""
    sixteenth = _traces(store, "otel_traces_sixteenth", inside)
    if sixteenth >= limit:
        return "otel_traces_sixteenth", 16 * -(-sixteenth // limit)
    return "otel_traces", max(1, -(-_traces(store, "otel_traces", inside) // limit))


def _traces(store: Store, table: str, inside: str) -> int:
    return int(store.query(f"SELECT uniq(TraceId) AS n FROM {table} WHERE TraceId != '' AND {inside}")["n"][0])


def _first(names: tuple[str, ...]) -> str:
    looked_up = ", ".join(f"nullIf(SpanAttributes['{name}'], '')" for name in names)
    return f"coalesce({looked_up}, '')"


_CHOOSE = """
CREATE OR REPLACE TEMPORARY TABLE chosen AS
SELECT TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, Timestamp, Duration, StatusCode, StatusMessage,
       ResourceAttributes, SpanAttributes, Events.Attributes AS event_attributes
FROM {table} PREWHERE {inside} AND TraceId != '' AND cityHash64(TraceId) % {{modulus:UInt32}} = 0
"""

_STATEMENT = f"""
SELECT TraceId AS trace_id, SpanId AS span_id, ParentSpanId AS parent_id, toString(SpanName) AS name,
       toString(SpanKind) AS kind, toString(ServiceName) AS service,
       toUnixTimestamp64Nano(Timestamp) AS start, toInt64(Duration) AS duration,
       StatusCode IN ('Error', 'STATUS_CODE_ERROR') AS failed, StatusMessage AS message,
       arrayStringConcat(arrayMap(m -> m['exception.message'], event_attributes), ' ') AS exception,
       ResourceAttributes['host.name'] AS host, ResourceAttributes['service.version'] AS version,
       ResourceAttributes['service.instance.id'] AS instance, toInt64(cityHash64(ResourceAttributes)) AS resource,
       {", ".join(f"{_first(names)} AS `{alias}`" for alias, names in TEXTS.items())},
       {", ".join(f"toFloat64OrNull({_first(names)}) AS `{alias}`" for alias, names in span_attributes().items())}
FROM chosen
ORDER BY start, span_id
SETTINGS optimize_functions_to_subcolumns = 0
"""

_RESOURCES = f"""
SELECT toInt64(cityHash64(ResourceAttributes)) AS resource, any(ResourceAttributes) AS attributes
FROM chosen GROUP BY resource ORDER BY resource LIMIT {RESOURCES}
"""

_SCOPE = """
WITH pairs AS (
    SELECT TraceId, kv.1 AS key, kv.2 AS value
    FROM chosen
    ARRAY JOIN arrayConcat(
        CAST(SpanAttributes, 'Array(Tuple(String, String))'),
        arrayFilter(x -> x.1 IN ('service.instance.id', 'service.version', 'host.name', 'k8s.pod.name',
                                 'k8s.node.name', 'cloud.availability_zone', 'deployment.environment.name'),
                    CAST(ResourceAttributes, 'Array(Tuple(String, String))'))) AS kv
    WHERE kv.2 != '' AND length(kv.2) < 200
      AND toFloat64OrNull(kv.2) IS NULL),
keys AS (
    SELECT key FROM pairs GROUP BY key
    HAVING uniq(value) BETWEEN 2 AND {values:UInt32}
    ORDER BY uniq(TraceId) DESC, key LIMIT {keys:UInt32})
SELECT TraceId AS trace_id, key, min(value) AS value FROM pairs WHERE key IN (SELECT key FROM keys)
GROUP BY trace_id, key ORDER BY trace_id, key
"""
