"""The log of Text Generation Inference, text or JSON: each answered request as a span with the router's own timings
(Rust prints them with their unit), start-up arguments as facts, errors as named events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from collector.attributes import Value
from collector.files._app_record import Record, level_of
from collector.files._contract import Options, Reader, Source
from collector.files._durations import WRITTEN, duration_ns
from collector.files._engine_facts import facts_in, settings
from collector.files._log_file import Log, Plain, Sink, read_records
from collector.files._paste import Head, Peeled, whole
from collector.files._share import score
from collector.files._spans import lone_span
from collector.files._stamps import ISO, Years, iso_unix_nano
from collector.files._times import SECOND
from correlator.model.records import Batch, Problem

SURE = 0.94
_OWN = re.compile(r"text_generation_(?:launcher|router|backends?)\b|text_generation_server\b")
_LEVEL = re.compile(r"\s*(TRACE|DEBUG|INFO|WARN|ERROR) ")
_JSON = re.compile(rf'\{{"timestamp":\s?"{ISO.pattern}",\s?"level":\s?"(\w+)"')
_HANDLER = re.compile(
    r"\b(compat_generate|generate_stream|generate|chat_completions|completions|vertex_compatibility)\b"
)
_TIMING = {
    "gen_ai.latency.e2e": re.compile(rf'total_time\W{{1,6}}?({WRITTEN})"'),
    "gen_ai.latency.time_in_queue": re.compile(rf'queue_time\W{{1,6}}?({WRITTEN})"'),
    "gen_ai.latency.time_in_model_inference": re.compile(rf'inference_time\W{{1,6}}?({WRITTEN})"'),
    "tgi.validation_time": re.compile(rf'validation_time\W{{1,6}}?({WRITTEN})"'),
    "tgi.time_per_token": re.compile(rf'time_per_token\W{{1,6}}?({WRITTEN})"'),
}
_MAX_TOKENS = re.compile(r"max_new_tokens:Some\((\d{1,9})\)")
_EVENTS = (
    ("modelisoverloaded", "tollens.overloaded"),
    ("args{", "tollens.engine_start"),
    ("shutdowncomplete", "tollens.engine_shutdown"),
    ("shutdownshards", "tollens.engine_shutdown"),
    ("shardprocesswassignaled", "tollens.engine_dead"),
    ("shardcompletestandarderroroutput", "tollens.engine_dead"),
)
_READY = re.compile(r'(?:text_generation_router[\w:]*:(?:[\w./-]+\.rs:\d+:)?|"message":"|^)connected(?:$|")')
"""The whole message, as it reads without white space: "Client disconnected" is another."""
_SETTINGS = {
    "model_id": "model",
    "dtype": "dtype",
    "quantize": "quantization",
    "num_shard": "tensor_parallel_size",
    "max_total_tokens": "max_model_len",
    "max_concurrent_requests": "max_concurrent_requests",
    "max_batch_prefill_tokens": "max_num_batched_tokens",
    "max_batch_total_tokens": "kv_cache_tokens",
    "cuda_memory_fraction": "gpu_memory_utilization",
    "speculate": "speculative_config",
}
_PATTERN = settings(_SETTINGS)


def accepts(source: Source) -> float:
    """By the share of lines with the names of TGI's own modules."""
    return score(source, SURE, _OWN.search)


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of logs and spans; `now` serves only to date prefixes without a year."""
    yield from read_records(source, options, now, Log("tgi_log", "tgi", _begins), Plain(_meaning))


def _begins(line: Peeled, years: Years) -> Head | None:
    if match := _JSON.match(line.text):
        return Head(iso_unix_nano(match), level_of(match[4]), line.text)
    match = _LEVEL.match(line.text)
    return Head(None, level_of(match[1]), line.text[match.end() :]) if match else None


def _meaning(sink: Sink, record: Record) -> None:
    text = "".join("".join(record.texts).split()).replace("\\", "")
    if record.unix_nano is None:
        sink.missed(record)
    elif (timing := _timing(text)) and "gen_ai.latency.e2e" in timing:
        _request(sink, record, record.unix_nano, text, timing)
    else:
        said = whole(record)
        event = next((event for phrase, event in _EVENTS if said.endswith(phrase) or phrase in said[:200]), "")
        if record.level == "INFO" and _READY.search(said):
            event = "tollens.engine_ready"
        if event == "tollens.engine_start":
            sink.state(record, "tgi", facts_in("".join(record.texts), _PATTERN, _SETTINGS))
        sink.tell(record, event)


def _timing(text: str) -> dict[str, float]:
    found = {name: pattern.search(text) for name, pattern in _TIMING.items()}
    ns = {name: duration_ns(match[1]) for name, match in found.items() if match}
    return {name: value / SECOND for name, value in ns.items() if value is not None}


def _request(sink: Sink, record: Record, end: int, text: str, timing: dict[str, float]) -> None:
    """The router logs a request when it is answered. Tokens are inference time over time per token: TGI divides so."""
    per_token, inference = timing.get("tgi.time_per_token"), timing.get("gen_ai.latency.time_in_model_inference")
    attributes: dict[str, Value] = {"gen_ai.operation.name": "text_completion", **timing}
    if per_token and inference:
        attributes["gen_ai.usage.output_tokens"] = round(inference / per_token)
    if match := _MAX_TOKENS.search(text):
        attributes["gen_ai.request.max_tokens"] = int(match[1])
    handler = _HANDLER.search(text)
    start = end - round(timing["gen_ai.latency.e2e"] * SECOND)
    span = lone_span(f"tgi {end} {record.line} {text}", handler[1] if handler else "generate", start, end, attributes)
    sink.spans.add({"service.name": "tgi"}, span, record.line)


READER = Reader(id="tgi_log", accepts=accepts, read=read)
