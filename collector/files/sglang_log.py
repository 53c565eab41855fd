"""SGLang's server log: its batch lines as the metrics SGLang itself exposes, start-up lines as facts, and what a cause
may rest on as named events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping

from collector.attributes import Value
from collector.files._app_record import Record
from collector.files._app_text import text_level
from collector.files._contract import Options, Reader, Source
from collector.files._engine_facts import facts_in, settings
from collector.files._log_file import Log, Plain, Sink, read_records
from collector.files._paste import Head, Peeled, whole
from collector.files._share import score
from collector.files._stamps import ISO, Years, iso_unix_nano
from correlator.model.records import Batch, Problem

SURE = 0.94
_LEVEL_REACH = 40  # SGLang names no level, what uvicorn adds does at once
_NUMBER = re.compile(r"\d+(?:\.\d*)?")
_HEAD = re.compile(rf"\[{ISO.pattern}((?: (?:DP|TP|PP|EP|ATTN_\w+)\d+)*)\] ?")
_RANK = re.compile(r"(DP|TP|PP)(\d{1,15})")
_OWN = re.compile(
    r"(?:Prefill|Decode) batch[ .,\[]|ServerArgs\(|max_total_num_tokens=|sglang[./]srt|fired up and ready to roll"
    r"|\bavail mem=|Load weight (?:begin|end)|Init torch distributed|KV Cache is allocated|KV cache pool is full"
    r"|[Cc]apture cuda graph|Attention backend |Memory pool end|Scheduler hit an exception|Retract requests"
)
_BATCH = re.compile(r"(?:prefill|decode)batch")
_FIGURES = (
    ("sglang:num_running_reqs", "{request}", re.compile(r"#running-req:(\d{1,15})")),
    ("sglang:num_queue_reqs", "{request}", re.compile(r"#queue-req:(\d{1,15})")),
    ("sglang:token_usage", "1", re.compile(r"(?<!full)(?<!swa)tokenusage:([\d.]+?)(?=,|$|[a-z#])")),
    ("sglang:gen_throughput", "{token}/s", re.compile(r"genthroughput\(token/s\):([\d.]+?)(?=,|$|[a-z#])")),
    ("sglang:spec_accept_length", "{token}", re.compile(r"acceptlen:([\d.]+?)(?=,|$|[a-z#])")),
)
_NEW, _CACHED = re.compile(r"#new-token:(\d{1,15})"), re.compile(r"#cached-token:(\d{1,15})")
_RETRACTED = re.compile(r"retractrequests\.#retracted_reqs:(\d{1,15})")
_EVENTS = (
    ("kvcachepoolisfull", "tollens.preemption"),
    ("serverisfiredupandreadytoroll", "tollens.engine_ready"),
    ("server_args=serverargs(", "tollens.engine_start"),
    ("capturecudagraphbegin", "tollens.cuda_graph_capture"),
    ("notenoughmemory.pleasetrytoincrease--mem-fraction-static", "tollens.out_of_memory"),
    ("watchdogtimeout", "tollens.engine_dead"),
)
_SETTINGS = {
    "model_path": "model",
    "served_model_name": "served_model_name",
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "cache_dtype",
    "chat_template": "chat_template",
    "tokenizer_path": "tokenizer",
    "context_length": "max_model_len",
    "context_len": "max_model_len",
    "mem_fraction_static": "gpu_memory_utilization",
    "max_running_requests": "max_num_seqs",
    "max_total_num_tokens": "kv_cache_tokens",
    "chunked_prefill_size": "max_num_batched_tokens",
    "tp_size": "tensor_parallel_size",
    "disable_cuda_graph": "enforce_eager",
    "disable_radix_cache": "prefix_caching_disabled",
    "speculative_algorithm": "speculative_config",
    "version": "version",
}
_PATTERN = settings(_SETTINGS)


def accepts(source: Source) -> float:
    """By the share of SGLang's stamps with a rank, or before one of its own phrases."""
    return score(source, SURE, _is_own)


def _is_own(text: str) -> bool:
    match = _HEAD.search(text, 0, 400)
    return match is not None and bool(match[4] or _OWN.search(text, match.end()))


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of logs and metrics; `now` serves only to date prefixes without a year."""
    yield from read_records(source, options, now, Log("sglang_log", "sglang", _begins), Plain(_meaning))


def _begins(line: Peeled, years: Years) -> Head | None:
    match = _HEAD.search(line.text, 0, 400)
    if match is None:
        return None
    rest, own = line.text[match.end() :], iso_unix_nano(match)
    if own is not None:
        years.saw(own)
    ranks: dict[str, Value] = {f"{kind.lower()}_rank": number for kind, number in _RANK.findall(match[4])}
    return Head(own, text_level(rest[:_LEVEL_REACH]), rest, ranks)


def _meaning(sink: Sink, record: Record) -> None:
    text, now = whole(record), record.unix_nano
    if now is None:
        sink.missed(record)
    elif _BATCH.match(text):
        _figures(sink, now, text, record.attributes)
    else:
        if match := _RETRACTED.search(text):
            name = "sglang:num_retracted_requests_total"
            sink.added(name, "{request}", now, int(match[1]), record.attributes)
        event = next((event for phrase, event in _EVENTS if phrase in text), "")
        if event == "tollens.engine_start" or text.startswith("max_total_num_tokens="):
            sink.state(record, "sglang", facts_in("".join(record.texts), _PATTERN, _SETTINGS))
        sink.tell(record, event, record.attributes)


def _figures(sink: Sink, now: int, text: str, rank: Mapping[str, Value]) -> None:
    for name, unit, pattern in _FIGURES:
        if (match := pattern.search(text)) and _NUMBER.fullmatch(match[1]):
            sink.out.gauge(name, unit, now, float(match[1]), rank)
    new, cached = _NEW.search(text), _CACHED.search(text)
    if new and cached:
        sink.added("sglang:prompt_tokens_total", "{token}", now, int(new[1]) + int(cached[1]), rank)
        sink.added("sglang:cached_tokens_total", "{token}", now, int(cached[1]), rank)


READER = Reader(id="sglang_log", accepts=accepts, read=read)
