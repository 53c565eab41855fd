"""The result of GenAI-Perf and of AIPerf: what the client saw, each figure as an object with its unit. GenAI-Perf tells
no time; AIPerf tells when the run began and ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from collector.attributes import Value
from collector.files._bench import Run, number, read_runs
from collector.files._contract import Options, Reader, Source
from collector.files._share import score
from collector.files._stamps import ISO, iso_unix_nano
from collector.files._times import SECOND
from correlator.model.records import Batch, Problem

SURE = 0.99
_NAMES = "request_throughput|output_token_throughput|time_to_first_token|inter_token_latency|request_latency"
_KEY = re.compile(rf'"(?:{_NAMES})"\s*:\s*\{{')
_KEYS = re.compile(_KEY.pattern.encode())
_TIMES = {"time_to_first_token": "ttft", "inter_token_latency": "tpot", "request_latency": "e2el"}
"""Its time between tokens is (latency − time to the first token) / (output tokens − 1): the time per output token."""
_STATISTICS = {"avg": "mean", "std": "std", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SUMS = {
    "request_throughput": "request_throughput",
    "output_token_throughput": "output_throughput",
    "request_count": "completed",
}


def accepts(source: Source) -> float:
    """By the names of its figures, each an object, and the share of lines that have one."""
    if len(set(_KEYS.findall(source.head))) < 2:
        return 0.0
    return score(source, SURE, _KEY.search)


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Each run as facts."""
    yield from read_runs(source, options, READER.id, "time_to_first_token with its unit …", _run)


def _run(found: dict[str, Any]) -> Run | None:
    facts, faults = dict[str, Value](), list[str]()
    for key, name in _SUMS.items():
        if (value := number(_object(found, key).get("avg"))) is not None:
            facts[f"client.{name}"] = value
    for key, name in _TIMES.items():
        figure = _object(found, key)
        unit = _SECONDS.get(str(figure.get("unit")))
        if figure and unit is None:
            faults.append(f"{key}: expected the unit s, ms, us or ns, found {str(figure.get('unit'))[:20]!r}")
        facts |= _scaled(figure, name, unit) if unit is not None else {}
    if not facts and not faults:
        return None
    begin, end = _moment(found.get("start_time")), _moment(found.get("end_time"))
    seconds = (end[0] - begin[0]) / SECOND if begin and end and begin[0] <= end[0] else 0.0
    return Run(facts, end and end[0], bool(end and end[1]), seconds, tuple(faults))


def _scaled(figure: Mapping[str, Any], name: str, unit: float) -> dict[str, Value]:
    values = ((short, number(figure.get(key))) for key, short in _STATISTICS.items())
    return {f"client.{name}.{short}_s": round(value * unit, 12) for short, value in values if value is not None}


def _object(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = found.get(key)
    return inner if isinstance(inner, dict) else {}


def _moment(written: object) -> tuple[int, bool] | None:
    """(Unix ns, whether its zone is named) of ISO text."""
    match = ISO.match(written) if isinstance(written, str) else None
    unix_nano = iso_unix_nano(match) if match else None
    return (unix_nano, match[3] is not None) if match and unix_nano is not None else None


READER = Reader(id="genai_perf", accepts=accepts, read=read, needs_year=True)
