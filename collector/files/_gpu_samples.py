"""Rows that GPU tools print → OTLP: the zone of their clock found, rows without a time dated, bad values named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.files._contract import Options, Source
from collector.files._gpu_fields import Faults, Told, readings, resource
from collector.files._local_clock import shift_to
from collector.files._times import SECOND, time_in_name
from collector.gpu.otlp import Attributes, metrics_request
from collector.gpu.otlp import Batch as Sample
from correlator.model.records import Batch, Problem, Signal

SAMPLES = 1_000
"""Rows in one request."""


@dataclass(frozen=True, slots=True)
class Undated:
    """How rows without a time are dated: `apart_s` between two of a GPU, None if only the last can be dated."""

    apart_s: float | None


def dated(
    source: Source, options: Options, rows: Iterable[Told | Problem], undated: Undated
) -> Iterator[Told | Problem]:
    """The rows with their times in UTC, in order, and what could not be used.

    All are held: a file of one row a second for a day is some 50 MB here.
    """
    told: list[Told] = []
    for row in rows:
        if isinstance(row, Problem):
            yield row
        else:
            told.append(row)
    shift = shift_to((row.unix_nano for row in told if row.unix_nano is not None), options.near_unix_nano)
    if shift.said:
        yield Problem(source.name, shift.said, kind="bad_time")
    yield from (replace(row, unix_nano=row.unix_nano + shift.nano) for row in told if row.unix_nano is not None)
    yield from _dated(source, options, [row for row in told if row.unix_nano is None], undated)


def _dated(source: Source, options: Options, rows: list[Told], undated: Undated) -> Iterator[Told | Problem]:
    series = [(row.line, repr(sorted(resource(row).items()))) for row in rows]
    times, problem = undated_times(source, options, series, undated)
    if problem:
        yield problem
    yield from (replace(row, unix_nano=at) for row, at in zip(rows, times, strict=True) if at is not None)


def undated_times(
    source: Source, options: Options, series: Sequence[tuple[int, str]], undated: Undated
) -> tuple[list[int | None], Problem | None]:
    """The time of each row, given as (line, series), and what to say of it: the last of a series gets the file's."""
    if not series:
        return [], None
    end = time_in_name(source.name) or options.scrape_time_unix_nano or source.modified_unix_nano
    if end is None:
        reason = "rows have no time, expected one in the rows, the file's name or --scrape-time"
        return [None] * len(series), Problem(source.name, reason, "bad_time", series[0][0], count=len(series))
    times: list[int | None] = []
    after: Counter[str] = Counter()
    for _, one in reversed(series):
        known = undated.apart_s is not None or not after[one]
        times.append(end - round(after[one] * (undated.apart_s or 0) * SECOND) if known else None)
        after[one] += 1
    how = f"one every {undated.apart_s:g} s" if undated.apart_s else "of several of a GPU only the last can be used"
    reason = f"rows have no time; the last one gets the file's ({how}; print the time, or set --scrape-time)"
    return times[::-1], Problem(source.name, reason, "bad_time", series[0][0], count=len(series))


def requests(
    source: Source, scope: str, rows: Iterable[Told | Problem], units: Mapping[str, str]
) -> Iterator[Batch | Problem]:
    """The rows as metrics requests; values that cannot be read are told once a field, with their number."""
    faults, waiting = Faults(), list[Sample]()
    folder: Attributes = {"tollens.source": source.name.rpartition("/")[0] or "."}
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        assert row.unix_nano is not None
        sample = list(readings(row, units, faults))
        if sample:
            waiting.append(({**resource(row), **folder}, row.unix_nano, sample))
        if len(waiting) >= SAMPLES:
            yield Batch(Signal.METRICS, metrics_request(scope, waiting))
            waiting = []
    if waiting:
        yield Batch(Signal.METRICS, metrics_request(scope, waiting))
    for name, (line, value) in faults.found.items():
        reason = f"expected a number with its unit, Active or Not Active, found {value[:40]!r}"
        yield Problem(source.name, reason, line=line, field=name)
