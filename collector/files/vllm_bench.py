"""The result of `vllm bench serve` (SGLang's `bench_serving` writes the same names): what the client saw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from collector.attributes import Value
from collector.files._bench import Run, number, read_runs
from collector.files._contract import Options, Reader, Source
from collector.files._local_clock import naive_unix_nano
from collector.files._share import score
from correlator.model.records import Batch, Problem

SURE = 0.99
_KEY = re.compile(r'"(?:request_throughput|mean_ttft_ms|mean_tpot_ms|output_throughput|total_token_throughput)"\s*:')
_KEYS = re.compile(_KEY.pattern.encode())
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
    """By the names of its figures, and the share of lines that have one."""
    if len(set(_KEYS.findall(source.head))) < 2:
        return 0.0
    return score(source, SURE, _KEY.search)


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Each run as facts."""
    yield from read_runs(source, options, READER.id, "mean_ttft_ms, output_throughput …", _run)


def _run(found: dict[str, Any]) -> Run | None:
    """The client writes its local time, without a zone, when the run ended."""
    facts = dict(_facts(found))
    if not any(name.startswith("client.t") or name.endswith("throughput") for name in facts):
        return None
    written = found.get("date")
    end = naive_unix_nano(written) if isinstance(written, str) else None
    return Run(facts, end, seconds=float(number(found.get("duration")) or 0.0))


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    for key, name in _SETTINGS.items():
        value = found.get(key)
        if isinstance(value, str) or (value := number(value)) is not None:
            yield f"client.{name}", value
    for time in _TIMES:
        for statistic in _STATISTICS:
            if (ms := number(found.get(f"{statistic}_{time}_ms"))) is not None:
                yield f"client.{'e2el' if time == 'e2e_latency' else time}.{statistic}_s", ms / 1000


READER = Reader(id="vllm_bench", accepts=accepts, read=read, needs_year=True)
