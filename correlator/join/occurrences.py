"""Happenings and configuration over time: from logs the readers recognised, info metrics, spans and resources."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import pandas as pd

from correlator.join.adapters import SHOWN, activations
from correlator.join.allocations import figures
from correlator.join.within import RECORDED, Within, during, whole
from correlator.model.evidence import METRICS, Event, Fact
from correlator.model.names import Events
from correlator.store import Store

PREFIX = "tollens."
STARTED, CONFIGURED = "process_start_time_seconds", "vllm:cache_config_info"
LIMIT = 20_000
"""Recognised happenings kept; a crash loop beyond that adds nothing."""
SAID = 4_000
"""Characters looked at of what a failed allocation says of itself."""
FACTS_NS = 7 * 86_400_000_000_000
"""What a start-up log said is in force until the next one; engines that run longer are asked by their metrics."""
CACHE_CONFIG = {
    "num_gpu_blocks": "engine.num_gpu_blocks",
    "block_size": "engine.block_size",
    "enable_prefix_caching": "engine.enable_prefix_caching",
    "kv_cache_size_tokens": "engine.kv_cache_tokens",
    "gpu_memory_utilization": "engine.gpu_memory_utilization",
    "cache_dtype": "engine.cache_dtype",
}
CONTEXT_OVERFLOW = re.compile(
    r"maximum context length|context_length_exceeded|prompt is too long|longer than the maximum model length",
    re.IGNORECASE,
)
PINGS_REFUSED = re.compile(r"too_many_pings|too many pings|ENHANCE_YOUR_CALM|keepalive ping failed", re.IGNORECASE)

REFUSAL = {
    "requested_tokens": re.compile(r"you requested ([\d,]+) tokens|too long: ([\d,]+) tokens", re.IGNORECASE),
    "input_tokens": re.compile(r"([\d,]+) (?:input|prompt) tokens|prompt \(length ([\d,]+)\)", re.IGNORECASE),
    "context_limit": re.compile(
        r"(?:context|model) length (?:is only|is|of) ([\d,]+)|> ([\d,]+) maximum", re.IGNORECASE
    ),
}
"""Counts that a refusal names; what was requested includes room for the answer, or is the prompt alone."""


def read_occurrences(
    store: Store, spans: pd.DataFrame, metrics: Collection[str], within: Within = None
) -> tuple[tuple[Event, ...], tuple[Fact, ...]]:
    """Events and facts in order of time; `metrics` are the names of those that have points."""
    happened, known = whole(within), whole(within, FACTS_NS)
    stamped, measured = during("Timestamp", happened), during("TimeUnix", happened)
    logs = _recognised(store, f"({stamped} OR EventName = '{PREFIX}facts' AND {during('Timestamp', known)})")
    events = [
        *_log_events(logs),
        *(_restarts(store, measured) if STARTED in metrics else ()),
        *_new_instances(store, spans, stamped),
        *(activations(store, measured) if SHOWN in metrics else ()),
    ]
    events += _span_events(spans)
    facts = [
        *_log_facts(logs),
        *(_cache_config(store, measured) if CONFIGURED in metrics else ()),
        *_resource_facts(spans),
    ]
    events += _deploys(facts)
    return tuple(sorted(events, key=_time)), tuple(sorted(facts, key=_time))


def _time(item: Event | Fact) -> tuple[int, str]:
    return item.unix_nano, item.name


def _recognised(store: Store, inside: str) -> pd.DataFrame:
    return store.query(
        f"""SELECT toUnixTimestamp64Nano(Timestamp) AS time, EventName AS event, TraceId AS trace_id,
                  concat(ServiceName, ' ', ResourceAttributes['service.instance.id']) AS resource,
                  mapKeys(LogAttributes) AS keys, mapValues(LogAttributes) AS texts,
                  if(EventName = '{PREFIX}{Events.OUT_OF_MEMORY}', substring(Body, 1, {SAID}), '') AS said
           FROM otel_logs WHERE startsWith(EventName, {{prefix:String}}) AND {inside}
           ORDER BY time, event LIMIT {{limit:UInt32}}""",
        prefix=PREFIX,
        limit=LIMIT,
    )


def _log_events(logs: pd.DataFrame) -> Iterable[Event]:
    for row in logs.itertuples():
        name = row.event.removeprefix(PREFIX)
        if name != "facts":
            attributes = dict(zip(row.keys, row.texts, strict=True))
            if name == Events.OUT_OF_MEMORY:
                attributes |= figures(f"{attributes.get('exception.message', '')} {row.said}")
            yield Event(name, int(row.time), row.resource.strip(), row.trace_id, attributes)


def _log_facts(logs: pd.DataFrame) -> Iterable[Fact]:
    for row in logs[logs["event"] == f"{PREFIX}facts"].itertuples():
        for key, value in zip(row.keys, row.texts, strict=True):
            place = key.partition(".")[0]
            if place in ("engine", "client"):
                yield Fact(key, str(value), int(row.time), place)


def _restarts(store: Store, inside: str) -> Iterable[Event]:
    """A process start time that changed: the process behind the metrics is a new one, its counters began anew."""
    table = store.query(
        f"""SELECT cityHash64(ResourceAttributes['service.instance.id'], ServiceName) AS series, Value AS began,
                  any(ServiceName) AS service, min(toUnixTimestamp64Nano(TimeUnix)) AS seen
           FROM otel_metrics_gauge WHERE MetricName = '{STARTED}' AND {RECORDED} AND {inside}
           GROUP BY series, began ORDER BY series, seen"""
    )
    for _, group in table.groupby("series"):
        for row in group.iloc[1:].itertuples():
            yield Event(Events.ENGINE_START, int(row.began * 1e9), row.service)
            yield Event(Events.COUNTER_RESET, int(row.seen), row.service)


def _new_instances(store: Store, spans: pd.DataFrame, inside: str) -> Iterable[Event]:
    """A further instance of a service that was already there: a restart, a scale-up or a deploy of it."""
    by_logs = store.query(
        f"""SELECT toString(ServiceName) AS service, ResourceAttributes['service.instance.id'] AS instance,
                  min(toUnixTimestamp64Nano(Timestamp)) AS start
           FROM otel_logs WHERE {inside} GROUP BY service, instance"""
    )
    seen = pd.concat([spans[["service", "instance", "start"]], by_logs])
    seen = seen[(seen["instance"] != "") & (seen["service"] != "")]
    first = seen.groupby(["service", "instance"])["start"].min().reset_index().sort_values(["service", "start"])
    for row in first[first.duplicated("service")].itertuples():
        yield Event(Events.INSTANCE_START, int(row.start), row.service, "", {"service.instance.id": row.instance})


def _deploys(facts: Iterable[Fact]) -> Iterable[Event]:
    """A service that shows another version than before."""
    versions: dict[str, str] = {}
    for fact in sorted(facts, key=_time):
        if fact.name == "service.version":
            if versions.get(fact.resource, fact.value) != fact.value:
                yield Event(Events.DEPLOY, fact.unix_nano, fact.resource, "", {fact.name: fact.value})
            versions[fact.resource] = fact.value


def _span_events(spans: pd.DataFrame) -> Iterable[Event]:
    for row in spans.loc[spans["name"] == "Overall Loading", ["start", "service"]].itertuples():
        yield Event(Events.ENGINE_START, int(row.start), row.service)
    failed = spans.loc[spans["failed"].astype(bool), ["start", "service", "trace_id", "message", "exception"]]
    failed = failed.assign(text=failed["message"] + " " + failed["exception"])
    for row in failed[failed["text"].str.contains(PINGS_REFUSED)].itertuples():
        yield Event(Events.KEEPALIVE_REFUSED, int(row.start), row.service, row.trace_id)
    for row in failed[failed["text"].str.contains(CONTEXT_OVERFLOW)].itertuples():
        yield Event(Events.CONTEXT_OVERFLOW, int(row.start), row.service, row.trace_id, _counts(row.text))


def _counts(text: str) -> dict[str, str]:
    """Tokens asked for and tokens allowed, where the refusal names them."""
    found = {key: pattern.search(text) for key, pattern in REFUSAL.items()}
    return {key: next(filter(None, match.groups())).replace(",", "") for key, match in found.items() if match}


def _cache_config(store: Store, inside: str) -> Iterable[Fact]:
    keys = list(CACHE_CONFIG)
    table = store.query(
        f"""SELECT min(toUnixTimestamp64Nano(TimeUnix)) AS time,
                   {", ".join(f"Attributes['{key}'] AS {key}" for key in keys)}
            FROM otel_metrics_gauge WHERE MetricName = '{CONFIGURED}' AND {RECORDED} AND {inside}
            GROUP BY {", ".join(keys)} ORDER BY time"""
    )
    for row in table.itertuples():
        for key, name in CACHE_CONFIG.items():
            if (value := getattr(row, key)) not in ("", "None"):
                yield Fact(name, value, int(row.time), METRICS)


def _resource_facts(spans: pd.DataFrame) -> Iterable[Fact]:
    """Versions and models as the spans name them, each time a value is first seen; spans are in order of time."""
    if spans.empty:
        return
    embeds = spans["operation"].isin(["embeddings", "embedding"]) | (spans["span_kind"].str.upper() == "EMBEDDING")
    for column, name, of in (
        ("model", "model", ~embeds),
        ("model", "embedding.model", embeds),
        ("dimension", "embedding.dimension", spans["dimension"] != ""),
        ("fingerprint", "engine.fingerprint", ~embeds),
        ("version", "service.version", spans["version"] != ""),
    ):
        told = spans.loc[of & (spans[column] != ""), ["service", column, "start"]]
        first = told.drop_duplicates(["service", column]).sort_values(["service", column])
        for service, value, time in zip(*(first[key] for key in first), strict=True):
            yield Fact(name, str(value), int(time), str(service))
