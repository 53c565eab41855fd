"""Results of benchmark clients: what each run told is one set of facts, in force since the run began. No time series
is made up from a summary."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from collector.attributes import Value
from collector.files._contract import Options, Source
from collector.files._emit import Emitter
from collector.files._lines import lines
from collector.files._local_clock import shift_to
from collector.files._times import SECOND, time_in_name
from correlator.model.records import Batch, Problem


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its figures by name (`client.…`, times in seconds), when it ended (Unix ns; None: not told), whether
    that time is of a known zone, how long it took (s), and what of it could not be used."""

    facts: Mapping[str, Value]
    end: int | None
    has_zone: bool = False
    seconds: float = 0.0
    faults: tuple[str, ...] = ()


def read_runs(
    source: Source, options: Options, scope: str, expected: str, run_of: Callable[[dict[str, Any]], Run | None]
) -> Iterator[Batch | Problem]:
    """Each result of the file: one JSON document, or one a line; `expected` says what one has."""
    out = Emitter(source.name, "benchmark client", scope)
    for line, found in _documents(source):
        run = run_of(found) if found is not None else None
        if run is None:
            yield Problem(
                source.name, f"expected a JSON object with the figures of a benchmark ({expected})", line=line
            )
            continue
        for fault in run.faults:
            yield Problem(source.name, fault, "unsupported", line)
        end, said = _end(source, options, run)
        if said:
            yield Problem(source.name, said, kind="bad_time", line=line)
        if end is not None:
            began = end - round(run.seconds * SECOND)
            out.log(began, "INFO", "result of a benchmark client", "tollens.facts", run.facts)
    yield from out.batches()


def number(value: object) -> float | int | None:
    """A finite number, None for anything else: NaN, as a run without answers has it, is no figure."""
    return value if type(value) is int or (type(value) is float and math.isfinite(value)) else None


def _documents(source: Source) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Every JSON object with its line; None for what is none."""
    with source.open() as stream:
        rows = [(number, raw) for number, raw in lines(stream) if raw is None or raw.strip()]
    try:
        documents = [(1, json.loads(b"".join(raw for _, raw in rows if raw is not None)))]
    except ValueError:
        documents = [(number, _parsed(raw)) for number, raw in rows]
    for line, found in documents:
        for one in found if isinstance(found, list) else [found]:
            yield line, one if isinstance(one, dict) else None


def _parsed(raw: bytes | None) -> Any:
    try:
        return json.loads(raw or b"")
    except ValueError:
        return None


def _end(source: Source, options: Options, run: Run) -> tuple[int | None, str]:
    """When the run ended, and what to say of it."""
    if run.end is None:
        end = time_in_name(source.name) or options.near_unix_nano or source.modified_unix_nano
        return end, "result has no date: it is put beside the other files" if end else "result has no date"
    if run.has_zone:
        return run.end, ""
    shift = shift_to([run.end], options.near_unix_nano)
    return run.end + shift.nano, shift.said
