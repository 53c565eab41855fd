"""The engine attacks its own answer: placebos, another onset, less evidence, other blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.model.effects import periods
from correlator.model.evidence import (
    BASELINE,
    INCIDENT,
    Evidence,
    Kind,
    Symptom,
    Window,
    Windows,
    with_windows,
)
from correlator.model.findings import Verdict
from correlator.model.names import STATE
from hypotheses._contract import Hypothesis
from hypotheses._judge import judge_all

FindSymptom = Callable[[Evidence, Kind | None], Symptom | None]

ONSET_SHIFT_NS = 60_000_000_000
"""How wrong an onset may be (DESIGN 6); at most a quarter of the shorter window, or nothing is left of it."""
RESAMPLES = 2
"""Each costs as much as moving the onset; two tell a lucky draw from a firm answer."""


def under_placebo(supported: Sequence[Hypothesis], evidence: Evidence, find: FindSymptom) -> dict[str, Verdict]:
    """Verdicts where nothing happened: the baseline's first half against its second. To be supported there is to be
    fooled; untestable there (too little data) proves nothing either way."""
    windows = evidence.windows
    if not supported or windows is None or evidence.symptom is None:
        return {}
    middle = (windows.baseline.start + windows.baseline.end) // 2
    halves = Windows(Window(windows.baseline.start, middle), Window(middle, windows.baseline.end))
    placebo = with_windows(evidence, halves)
    placebo = replace(placebo, symptom=find(placebo, evidence.symptom.kind))
    return {j.hypothesis.id: j.verdict for j in judge_all(supported, placebo)}


def variations(evidence: Evidence, find: FindSymptom) -> Iterator[tuple[str, Evidence]]:
    """The same evidence seen a little differently, each with its symptom found anew."""
    kind = evidence.symptom.kind if evidence.symptom else None
    requests, series = evidence.numbers
    evidence = replace(evidence, requests=requests, series=series)
    for name, changed in _changed(evidence):
        yield name, replace(changed, symptom=find(changed, kind))


def onset_shift(windows: Windows) -> int:
    """Nanoseconds by which the onset is moved either way."""
    return int(min(ONSET_SHIFT_NS, 0.25e9 * min(windows.baseline.seconds, windows.incident.seconds)))


def _changed(evidence: Evidence) -> Iterator[tuple[str, Evidence]]:
    windows = evidence.windows
    if windows is None:
        return
    shift = onset_shift(windows)
    for sign, name in ((-1, "onset earlier"), (1, "onset later")):
        base, incident = windows.baseline, windows.incident
        gap = incident.start - base.end
        onset = incident.start + sign * shift
        moved = Windows(
            Window(base.start, min(onset, base.end) if sign < 0 else onset - gap), Window(onset, incident.end)
        )
        yield name, with_windows(evidence, moved)
    if len(evidence.requests):
        yield "without traces", replace(evidence, requests=evidence.requests.iloc[:0])
    if len(evidence.series):
        yield "without metrics", _without_metrics(evidence)
    for seed in range(RESAMPLES):
        yield f"blocks drawn anew {seed + 1}", _resampled(evidence, seed)


def _without_metrics(evidence: Evidence) -> Evidence:
    tied = [signal.name for signal in STATE]
    requests = evidence.requests.drop(columns=tied, errors="ignore")
    return replace(evidence, series=evidence.series.iloc[:0], requests=requests)


def _resampled(evidence: Evidence, seed: int) -> Evidence:
    """Blocks drawn with replacement within each period; a block drawn twice counts as two."""
    rng = np.random.default_rng(seed)
    frames = (evidence.requests, evidence.series)
    drawn = []
    for side, period in enumerate((BASELINE, INCIDENT)):
        mine = sorted({name for frame in frames for name in frame["block"][periods(frame)[side]].unique()})
        drawn += [(period, mine[i]) for i in rng.integers(0, len(mine), len(mine))] if mine else []
    return replace(evidence, requests=_drawn(evidence.requests, drawn), series=_drawn(evidence.series, drawn))


def _drawn(frame: pd.DataFrame, drawn: list[tuple[str, str]]) -> pd.DataFrame:
    rows = frame.groupby(["period", "block"], observed=True).indices
    parts = [rows.get(pair, np.empty(0, dtype=np.int64)) for pair in drawn]
    copies = np.repeat(np.arange(len(drawn)), [len(part) for part in parts])
    taken = frame.iloc[np.concatenate(parts) if parts else []].reset_index(drop=True)
    return taken.assign(block=pd.Categorical.from_codes(copies, categories=[f"{i:06}" for i in range(len(drawn))]))
