"""The OpenTelemetry Collector's own log, console or JSON: items dropped and refused, as the counters that the
Collector itself exposes, and as named events: they lower what the absence of other evidence is worth."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from collector.attributes import Value
from collector.files._app_json import time_of
from collector.files._app_record import Record, level_of
from collector.files._contract import Options, Reader, Source
from collector.files._engine_facts import plain
from collector.files._log_file import Log, Plain, Sink, read_records
from collector.files._paste import Head, Peeled, whole
from collector.files._share import score
from collector.files._stamps import Years
from correlator.model.records import Batch, Problem

SURE = 0.94
_CALLER = r"[\w./@-]+\.go:\d+"
_CONSOLE = re.compile(rf"(debug|info|warn|error|dpanic|panic|fatal)\s+({_CALLER})\s+")
_COLLECTOR = re.compile(
    r"go\.opentelemetry\.io/collector|otelcol|exporterhelper|collector-contrib|memory_?limiter|\w@v\d+\.\d+\.\d+/"
    r"|(?:queue|retry|batch)_sender\.go|(?:exporter|receiver|processor|connector|extension)(?:s/|@v)"
    r"|\"kind\":\s?\"(?:exporter|receiver|processor|connector|extension)\""
)
_JSON_LEVEL = re.compile(r'^\{"level":\s?"(\w+)"')
_JSON_TIME = re.compile(r'"(?:ts|timestamp|time)":\s?("[^"]+"|\d+(?:\.\d+)?)')
_FIELDS = re.compile(r"\{\s*\"")
_KINDS = {"traces": "spans", "metrics": "metric_points", "logs": "log_records"}
_UNITS = {"spans": "{span}", "metric_points": "{datapoint}", "log_records": "{record}"}
_LOSSES = (  # a full queue says both, in words that changed with the years: sending_queue, sending queue
    ("sendingqueueisfull", "otelcol_exporter_enqueue_failed"),
    ("sending_queueisfull", "otelcol_exporter_enqueue_failed"),
    ("droppingdata", "otelcol_exporter_send_failed"),
    ("exportingfailed.rejectingdata", "otelcol_exporter_send_failed"),
    ("nomoreretriesleft", "otelcol_exporter_send_failed"),
)
_REFUSALS = (
    "datarefusedduetohighmemoryusage",
    "memoryusageisabovesoftlimit.refusingdata",
    "memoryusageisabovehardlimit",
)


def accepts(source: Source) -> float:
    """By the share of lines in zap's console or JSON form that name a part of the Collector."""
    return score(source, SURE, _is_own)


def _is_own(text: str) -> bool:
    return bool(_begins(Peeled(None, text), Years(None, lambda: 0)) and _COLLECTOR.search(text))


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of logs and metrics; `now` serves only to date prefixes without a year."""
    log = Log("otelcol_log", "otelcol", _begins)
    yield from read_records(source, options, now, log, Plain(_meaning))


def _begins(line: Peeled, years: Years) -> Head | None:
    if line.text.startswith("{"):
        level, stamp = _JSON_LEVEL.search(line.text), _JSON_TIME.search(line.text)
        own = time_of(plain(stamp[1].strip('"')), years) if stamp else None
        return Head(own, level_of(level[1]), line.text) if level else None
    match = _CONSOLE.match(line.text)
    return Head(None, level_of(match[1]), line.text[match.start(2) :]) if match else None


def _meaning(sink: Sink, record: Record) -> None:
    if record.unix_nano is None:
        sink.missed(record)
        return
    said, fields = whole(record), _fields("".join(record.texts))
    attributes = _attributes(fields)
    metric = next((name for phrase, name in _LOSSES if phrase in said), "")
    kind = _KINDS.get(str(fields.get("otelcol.signal") or fields.get("data_type") or ""), "")
    dropped = fields.get("dropped_items", fields.get("rejected_items"))
    if metric and kind and isinstance(dropped, int) and 0 <= dropped < 2**63:
        exporter: dict[str, Value] = {"exporter": str(attributes.get("otelcol.component.id", ""))}
        sink.added(f"{metric}_{kind}", _UNITS[kind], record.unix_nano, dropped, exporter)
    refused = any(phrase in said for phrase in _REFUSALS)
    event = "tollens.telemetry_dropped" if metric else "tollens.telemetry_refused" if refused else ""
    sink.tell(record, event, attributes)


def _fields(body: str) -> dict[str, Any]:
    """What zap appends to a line, or the whole line where it is JSON; a stack trace may follow."""
    match = _FIELDS.search(body)
    try:
        found = json.JSONDecoder().raw_decode(body, match.start())[0] if match else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _attributes(fields: Mapping[str, Any]) -> dict[str, Value]:
    names = {"otelcol.component.id": ("otelcol.component.id", "name"), "otelcol.component.kind": ("kind",)}
    for key in ("otelcol.signal", "dropped_items", "rejected_items", "error", "interval"):
        names[key] = (key,)
    found = {name: next((fields[key] for key in keys if key in fields), None) for name, keys in names.items()}
    return {name: value for name, value in found.items() if isinstance(value, str | bool | int | float)}


READER = Reader(id="otelcol_log", accepts=accepts, read=read)
