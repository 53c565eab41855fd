"""The figures of vLLM's periodic lines, V0 and V1, for any device word. Read from text without spaces, so a
line broken by a terminal reads the same; what a line does not have is left out."""

import re
from typing import NamedTuple

_STARTS = re.compile(
    r"(?:engine(\d+):|\d+enginesaggregated:)?avgprompt|prefixcachehitrate:|specdecodingmetrics:|speculativemetrics:"
)
_ENGINE = re.compile(r"engine(\d+):")


class Figure(NamedTuple):
    """One gauge of a stats line."""

    name: str
    unit: str
    pattern: re.Pattern[str]
    scale: float = 1.0


_FIGURES = (
    Figure("prompt_throughput", "{token}/s", re.compile(r"avgpromptthroughput:([\d.]+)tokens/s")),
    Figure("generation_throughput", "{token}/s", re.compile(r"avggenerationthroughput:([\d.]+)tokens/s")),
    Figure("running_requests", "{request}", re.compile(r"running:(\d+)reqs")),
    Figure("waiting_requests", "{request}", re.compile(r"(?:waiting|pending):(\d+)reqs")),
    Figure("swapped_requests", "{request}", re.compile(r"swapped:(\d+)reqs")),
    Figure("kv_cache_usage", "1", re.compile(r"kvcacheusage:([\d.]+)%"), 0.01),
    Figure("cpu_kv_cache_usage", "1", re.compile(r"kvcacheusage:.*?cpukvcacheusage:([\d.]+)%"), 0.01),
    Figure("prefix_cache_hit_rate", "1", re.compile(r"(?<!external)prefixcachehitrate:(?:gpu:)?([\d.]+)%"), 0.01),
    Figure("spec_decode_acceptance", "1", re.compile(r"draftacceptancerate:([\d.]+)%"), 0.01),
    Figure("spec_decode_acceptance", "1", re.compile(r"draftacceptancerate:([\d.]+)(?![\d.%])")),
    Figure("spec_decode_accepted_length", "{token}", re.compile(r"meanacceptancelength:([\d.]+)")),
)
_PREEMPTIONS = re.compile(r"(?<!cumulative)preemptions:(\d+)")


class Stats(NamedTuple):
    """A stats line: gauges as (name, unit, value), the engine's number, preemptions since the last line."""

    gauges: tuple[tuple[str, str, float], ...]
    engine: str | None
    preemptions: int | None


def stats_of(squeezed: str) -> Stats | None:
    """The figures in an entry's squeezed text; None if it is no stats line."""
    if not _STARTS.match(squeezed):
        return None
    gauges = tuple(gauge for figure in _FIGURES if (gauge := _gauge(figure, squeezed)))
    engine = _ENGINE.match(squeezed)
    preemptions = _PREEMPTIONS.search(squeezed)
    return Stats(gauges, str(int(engine[1])) if engine else None, int(preemptions[1]) if preemptions else None)


def _gauge(figure: Figure, squeezed: str) -> tuple[str, str, float] | None:
    match = figure.pattern.search(squeezed)
    if match is None:
        return None
    try:
        value = round(float(match[1]) * figure.scale, 9)
    except ValueError:  # `1.2.3`, from a line put together wrongly
        return None
    return f"vllm.log.{figure.name}", figure.unit, value
