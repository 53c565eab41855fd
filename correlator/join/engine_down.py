"""When an engine was down, by what its own log tells: it died, or its start failed, and none was ready since.

A start and an ordered stop are no failure. Where a log has ended nobody knows how its engine went on; within it a
death holds until the next start has come to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from correlator.join.coverage import ENGINES
from correlator.join.occurrences import PREFIX
from correlator.join.series import BUCKET_NS, EVERYWHERE
from correlator.join.within import Within, during, whole
from correlator.model import names as n
from correlator.model.evidence import Event, Window
from correlator.model.names import Events
from correlator.store import Store

UNKNOWN, STARTING, UP, DOWN = range(4)
ENDS_A_START = frozenset(
    {Events.MODEL_LOAD_FAILURE, Events.DRIVER_MISMATCH, Events.OUT_OF_MEMORY, Events.MEMORY_RELEASED,
     Events.NCCL_FAILURE, Events.GPU_ECC_ERROR, Events.GPU_LOST}
)  # fmt: skip
"""What an engine may survive that serves, but not one that starts."""
STATES = {Events.ENGINE_START: STARTING, Events.ENGINE_SHUTDOWN: UNKNOWN}
FAILURES = ENDS_A_START | {Events.ENGINE_DEAD}
TOLD = (*ENDS_A_START, *STATES, Events.ENGINE_READY, Events.ENGINE_DEAD)
LIMIT = 20_000
"""Lines of a life kept, as many as happenings are."""
DIGITS = 20
"""Of a time in nanoseconds, so that texts sort as times do."""


def with_engine_down(
    store: Store, series: pd.DataFrame, events: Iterable[Event], extents: Mapping[str, Window], within: Within
) -> pd.DataFrame:
    """The series with ENGINE_DOWN; where one failed, with rows also for times in which nothing else was measured."""
    told = [event for event in events if event.name in TOLD]
    if not told or "engine_log" not in extents:
        return series
    if not any(event.name in FAILURES for event in told):
        well = series["start"].between(told[0].unix_nano, extents["engine_log"].end)
        return series.assign(**{n.ENGINE_DOWN.name: np.where(well, 0.0, np.nan)}) if well.any() else series
    lives = list(_lives(store, within))
    return _joined(series, _down(lives)) if lives else series


def outages(series: pd.DataFrame) -> list[Window]:
    """Stretches in which an engine was down, from bucket to bucket."""
    if n.ENGINE_DOWN.name not in series:
        return []
    share, start = series[n.ENGINE_DOWN.name].to_numpy(dtype=float), series["start"].to_numpy(dtype=np.int64)
    if not (share > 0).any():
        return []
    known = ~np.isnan(share)
    order = np.argsort(start[known], kind="stable")
    down, start = (share[known] > 0)[order], start[known][order]
    turns = np.diff(np.concatenate([[0], down.astype(np.int8), [0]]))
    ends = np.flatnonzero(turns < 0) - 1
    return [
        Window(int(start[i]), int(start[j]) + BUCKET_NS) for i, j in zip(np.flatnonzero(turns > 0), ends, strict=True)
    ]


Life = tuple[np.ndarray, list[int], int]
"""When an engine's state changed, into which, and when its log ended."""


def _lives(store: Store, within: Within) -> Iterator[Life]:
    """One a log: two engines may write under one name."""
    names = ", ".join(f"'{PREFIX}{name}'" for name in TOLD)
    time = "toUnixTimestamp64Nano(Timestamp)"
    line = f"concat(leftPad(toString({time}), {DIGITS}, '0'), EventName)"
    logs = store.query(
        f"""SELECT max({time}) AS last, arraySort(groupArrayIf({LIMIT})({line}, EventName IN ({names}))) AS lines
        FROM otel_logs WHERE {ENGINES} AND {during("Timestamp", whole(within))}
        GROUP BY ServiceName, ResourceAttributes['service.instance.id'], ResourceAttributes['log.file.path']"""
    )
    for log in logs[logs["lines"].map(len) > 0].itertuples():
        times = np.array([int(line[:DIGITS]) for line in log.lines], dtype=np.int64)
        yield times, list(_states(line[DIGITS + len(PREFIX) :] for line in log.lines)), int(log.last)


def _states(events: Iterable[str]) -> Iterator[int]:
    state = UNKNOWN
    for event in events:
        if event == Events.ENGINE_READY:
            state = UP
        elif event == Events.ENGINE_DEAD or (event in ENDS_A_START and state == STARTING):
            state = DOWN
        elif state != DOWN:
            state = STATES.get(event, state)
        yield state


def _down(lives: list[Life]) -> pd.Series:
    """Share of each bucket in which one was down and none up, of the time of which anything is known."""
    first = min(int(times[0]) for times, _, _ in lives) // BUCKET_NS
    edges = np.arange(first, max(last for _, _, last in lives) // BUCKET_NS + 2) * BUCKET_NS
    parts = {state: [_share(*life, edges, state) for life in lives] for state in (STARTING, UP, DOWN)}
    starting, up, down = (np.max(parts[state], axis=0) for state in (STARTING, UP, DOWN))
    known = np.minimum(starting + up + down, 1.0)
    with np.errstate(invalid="ignore"):
        share = np.minimum(down, known - up).clip(min=0) / known
    return pd.Series(share, edges[:-1]).dropna()


def _share(times: np.ndarray, states: list[int], last: int, edges: np.ndarray, state: int) -> np.ndarray:
    """Share of each bucket that a log's engine was in this state; the log ends with the bucket of its last line."""
    at = np.append(times, (last // BUCKET_NS + 1) * BUCKET_NS) - edges[0]
    inside = np.where(np.array(states) == state, np.diff(at), 0)
    passed = np.interp(edges - edges[0], at, np.concatenate([[0.0], np.cumsum(inside)]))
    share: np.ndarray = np.diff(passed) / BUCKET_NS
    return share


def _joined(series: pd.DataFrame, down: pd.Series) -> pd.DataFrame:
    """Where tokens are made some engine works, whatever was told; one that tells of its batch is up, unless told."""
    host = series["host"].iloc[0] if len(series) else EVERYWHERE
    rows = series.set_index("start")
    rows = rows.reindex(rows.index.union(down.index)).assign(host=host)
    down = down.reindex(rows.index)
    if n.RUNNING.name in rows:
        down = down.mask(down.isna() & rows[n.RUNNING.name].notna(), 0.0)
    if n.GENERATION_THROUGHPUT.name in rows:
        down = down.mask(rows[n.GENERATION_THROUGHPUT.name] > 0, 0.0)
    return rows.assign(**{n.ENGINE_DOWN.name: down}).rename_axis("start").reset_index()
