"""The summary that LLMPerf writes: what its client saw, in seconds. Its `timestamp` is taken when the run is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from collector.attributes import Value
from collector.files._bench import Run, number, read_runs
from collector.files._contract import Options, Reader, Source
from collector.files._share import score
from collector.files._times import SECOND, plausible
from correlator.model.records import Batch, Problem

SURE = 0.99
_KEY = re.compile(r'"results_(?:ttft_s|inter_token_latency_s|end_to_end_latency_s)_\w+"\s*:')
_SETTINGS = {
    "num_concurrent_requests": "max_concurrency",
    "results_num_requests_started": "prompts",
    "results_num_completed_requests": "completed",
    "results_number_errors": "errors",
    "results_mean_output_throughput_token_per_s": "output_throughput",
}
_TIMES = {"ttft_s": "ttft", "inter_token_latency_s": "itl", "end_to_end_latency_s": "e2el"}
_STATISTICS = {"mean": "mean", "stddev": "std", "quantiles_p50": "median"} | {
    f"quantiles_{p}": p for p in ("p90", "p95", "p99")
}


def accepts(source: Source) -> float:
    """By the share of lines with its figures."""
    return score(source, SURE, _KEY.search)


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Each run as facts."""
    yield from read_runs(source, options, READER.id, "results_ttft_s_mean …", _run)


def _run(found: dict[str, Any]) -> Run | None:
    facts = dict(_facts(found))
    if not any(name.endswith("_s") for name in facts):
        return None
    stamp = number(found.get("timestamp"))
    end = round(stamp * SECOND) if stamp is not None and plausible(round(stamp * SECOND)) is None else None
    return Run(facts, end, has_zone=True)


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    for key, name in _SETTINGS.items():
        if (value := number(found.get(key))) is not None:
            yield f"client.{name}", value
    for time, ours in _TIMES.items():
        for statistic, short in _STATISTICS.items():
            if (value := number(found.get(f"results_{time}_{statistic}"))) is not None:
                yield f"client.{ours}.{short}_s", value


READER = Reader(id="llmperf", accepts=accepts, read=read, needs_year=True)
