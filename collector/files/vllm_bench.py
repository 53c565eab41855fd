"""The result of `vllm bench serve` (SGLang's `bench_serving` writes the same names): what the client saw.

One run is one fact each of its figures, in force since the run began: no time series is made up from a summary.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from collector.attributes import Value
from collector.files._contract import Options, Reader, Source
from collector.files._emit import Emitter
from collector.files._lines import lines
from collector.files._local_clock import naive_unix_nano, shift_to
from collector.files._times import SECOND, time_in_name
from correlator.model.records import Batch, Problem

_KEYS = re.compile(rb'"(?:request_throughput|mean_ttft_ms|mean_tpot_ms|output_throughput|total_token_throughput)"\s*:')
_SETTINGS = {
    "completed": "completed",
    "num_prompts": "prompts",
    "duration": "duration_s",
    "request_rate": "request_rate",
    "max_concurrency": "max_concurrency",
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "request_throughput": "request_throughput",
    "output_throughput": "output_throughput",
}
_TIMES = ("ttft", "tpot", "itl", "e2el", "e2e_latency")
_STATISTICS = ("mean", "median", "std", "p90", "p95", "p99")


def accepts(source: Source) -> float:
    """By the names of its figures."""
    return 0.99 if len(set(_KEYS.findall(source.head))) >= 2 else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Each result of the file: one JSON document, or one a line."""
    out = Emitter(source.name, "benchmark client", READER.id)
    for line, found in _documents(source):
        if isinstance(found, str):
            yield Problem(source.name, found, line=line)
            continue
        facts = dict(_facts(found))
        if not any(name.startswith("client.t") or name.endswith("throughput") for name in facts):
            yield Problem(
                source.name, "expected the figures of a benchmark (mean_ttft_ms, output_throughput …)", line=line
            )
            continue
        end, said = _end(source, options, found)
        if said:
            yield Problem(source.name, said, kind="bad_time", line=line)
        if end is not None:
            duration_s = facts.get("client.duration_s", 0.0)
            began = end - round(float(duration_s) * SECOND)
            out.log(began, "INFO", "result of a benchmark client", "tollens.facts", facts)
    yield from out.batches()


def _documents(source: Source) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Every JSON object, or what is wrong."""
    with source.open() as stream:
        rows = [(number, raw) for number, raw in lines(stream) if raw is None or raw.strip()]
    whole = b"".join(raw for _, raw in rows if raw is not None)
    try:
        documents = [(1, json.loads(whole))]
    except ValueError:
        documents = [(number, _parsed(raw)) for number, raw in rows]
    for number, found in documents:
        for one in found if isinstance(found, list) else [found]:
            yield number, one if isinstance(one, dict) else "expected a JSON object with a benchmark's result"


def _parsed(raw: bytes | None) -> Any:
    try:
        return json.loads(raw or b"")
    except ValueError:
        return None


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    for key, name in _SETTINGS.items():
        if isinstance(value := found.get(key), int | float | str) and not _is_nan(value):
            yield f"client.{name}", value
    for time in _TIMES:
        for statistic in _STATISTICS:
            value = found.get(f"{statistic}_{time}_ms")
            if isinstance(value, int | float) and not _is_nan(value):
                yield f"client.{'e2el' if time == 'e2e_latency' else time}.{statistic}_s", value / 1000


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _end(source: Source, options: Options, found: dict[str, Any]) -> tuple[int | None, str]:
    """When the run ended, and what to say of it. The client writes its local time, without a zone."""
    written = found.get("date")
    end = naive_unix_nano(written) if isinstance(written, str) else None
    if end is None:
        end = time_in_name(source.name) or options.near_unix_nano or source.modified_unix_nano
        return end, "result has no date: it is put beside the other files" if end else "result has no date"
    shift = shift_to([end], options.near_unix_nano)
    return end + shift.nano, shift.said


READER = Reader(id="vllm_bench", accepts=accepts, read=read, needs_year=True)
