"""GPU samples tied to requests: what the GPUs that served a request told during its own interval.

Means over each device's samples in the interval, then over devices as the signal says (`across`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from correlator.join.gpu_samples import Samples, Track, across
from correlator.join.series import BUCKET_NS

MOST = 0.5
"""Of the requests so many must hold a sample; below that the rest would be a choice of the long ones."""
IDLE_BYTES = 200 * 2**20
"""A CUDA context alone takes more: a GPU that holds less serves nothing."""


@dataclass(frozen=True, slots=True)
class Tied:
    """Columns by trace, and for each signal that is not tied to single requests the reason."""

    columns: pd.DataFrame
    untied: Mapping[str, str]


def at_work(devices: Sequence[str], samples: Samples) -> tuple[str, ...]:
    """Without the GPUs that hold no memory, if others do."""
    busy = tuple(device for device in devices if _largest(samples.get(device, {}).get("gpu_memory_used")) >= IDLE_BYTES)
    return busy or tuple(devices)


def _largest(track: Track | None) -> float:
    """An unknown memory may be any."""
    return float(track[1].max()) if track is not None else np.inf


def tellers(signal: str, devices: Iterable[str], samples: Samples, wholes: Mapping[str, str]) -> list[Track]:
    """The tracks of a signal, one a device; a MIG instance that tells it itself speaks instead of its whole GPU."""
    telling = [device for device in devices if signal in samples.get(device, {})]
    spoken_for = {wholes.get(device, "") for device in telling}
    return [samples[device][signal] for device in telling if device not in spoken_for]


def with_wholes(devices: Iterable[str], wholes: Mapping[str, str]) -> tuple[str, ...]:
    """MIG instances and the GPUs that they are parts of: clocks, power and heat are told of those only."""
    devices = tuple(devices)
    return tuple(dict.fromkeys([*devices, *(whole for device in devices if (whole := wholes.get(device, "")))]))


def tied(
    served: pd.DataFrame, devices: Mapping[object, tuple[str, ...]], samples: Samples, wholes: Mapping[str, str]
) -> Tied:
    """`served`: columns trace_id, begin, end, source; `devices`: for each source the GPUs it serves on."""
    parts = [
        _during(its, devices[source], samples, wholes)
        for source, its in served.groupby("source")
        if devices.get(source)
    ]
    if not parts:
        return Tied(pd.DataFrame(), {})
    spans = pd.concat(parts)
    signals = [column for column in spans.columns if column in across()]
    by_trace = spans.groupby("trace_id")[signals].mean()
    covered = by_trace.notna().mean()
    sparse = [signal for signal in signals if covered[signal] <= MOST]
    seconds = float(((spans["end"] - spans["begin"]) / 1e9).median())
    used = {device for its in devices.values() for device in its}
    untied = {s: _why(interval(samples, used, s), seconds, covered[s]) for s in sparse}
    return Tied(by_trace.drop(columns=sparse), untied)


def _during(served: pd.DataFrame, devices: Sequence[str], samples: Samples, wholes: Mapping[str, str]) -> pd.DataFrame:
    begin, end = (served[name].to_numpy(dtype=np.int64) for name in ("begin", "end"))
    columns = {
        signal: together(how, [mean_between(track, begin, end) for track in found])
        for signal, how in across().items()
        if (found := tellers(signal, devices, samples, wholes))
    }
    return served.assign(**columns)


def mean_between(track: Track, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Mean of the samples from each begin to its end, both included; NaN where there is none."""
    times, values = track
    total = np.concatenate([[0.0], np.cumsum(values)])
    low, high = np.searchsorted(times, begin, side="left"), np.searchsorted(times, end, side="right")
    count = high - low
    return np.where(count > 0, (total[high] - total[low]) / np.maximum(count, 1), np.nan)


def together(how: str, values: Sequence[np.ndarray]) -> np.ndarray:
    """Of several GPUs the mean, max or min of those that told something, or the sum, which needs all of them."""
    frame = pd.DataFrame(np.vstack(values))
    combined: pd.Series = frame.sum(min_count=len(frame)) if how == "sum" else frame.agg(how)
    return np.asarray(combined, dtype=float)


def interval(samples: Samples, devices: Iterable[str], signal: str) -> float:
    """Median seconds between samples of a signal."""
    gaps = [np.diff(samples[d][signal][0]) for d in devices if signal in samples.get(d, {})]
    every = np.concatenate(gaps) if gaps else np.array([])
    return float(np.median(every)) / 1e9 if len(every) else np.inf


def _why(every: float, seconds: float, covered: float) -> str:
    if every > seconds:
        return f"untestable at this interval: sampled every {every:.3g} s, requests last {seconds:.3g} s"
    return f"only {covered:.0%} of the requests that these GPUs served hold a sample"


def by_bucket(devices: Sequence[str], samples: Samples, wholes: Mapping[str, str]) -> pd.DataFrame:
    """A row for each stretch of 5 s in which these devices told something."""
    columns = {}
    for signal, how in across().items():
        parts = [_bucketed(track) for track in tellers(signal, devices, samples, wholes)]
        if parts:
            wide = pd.concat(parts, axis=1)
            columns[signal] = pd.Series(together(how, list(wide.to_numpy().T)), wide.index)
    return pd.DataFrame(columns).dropna(how="all").sort_index()


def _bucketed(track: Track) -> pd.Series:
    times, values = track
    return pd.Series(values).groupby(times // BUCKET_NS).mean()
