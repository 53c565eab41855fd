"""Small frames with known levels, for tests of single words: sixteen blocks, eight before and eight after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.model.evidence import (
    BLOCK_NS,
    Coverage,
    Event,
    Evidence,
    Fact,
    Interval,
    Kind,
    Symptom,
    Window,
    Windows,
    with_windows,
)
from correlator.model.findings import Outcome
from correlator.model.names import ERROR, Signal
from hypotheses import Test

BEGIN, BLOCKS, PER_BLOCK = 1_700_000_000_000_000_000, 8, 6
ONSET = BEGIN + BLOCKS * BLOCK_NS
END = ONSET + BLOCKS * BLOCK_NS
NOISE = 0.05

Column = tuple[float, float] | list[float]
HELD, FAILED, OPEN, BLIND = Outcome.HELD, Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.UNTESTABLE


def rows(noise: float = NOISE, **columns: Column) -> pd.DataFrame:
    """Six rows a block; a column is its two levels, or one level for each of the sixteen blocks."""
    rng = np.random.default_rng(1)
    block = np.repeat(np.arange(2 * BLOCKS), PER_BLOCK)
    out = pd.DataFrame({"start": BEGIN + block * BLOCK_NS + np.tile(np.arange(PER_BLOCK), 2 * BLOCKS), "host": "a"})
    for name, levels in columns.items():
        by_block = np.repeat(levels, BLOCKS) if len(levels) == 2 else np.asarray(levels)
        out[name.replace("__", ".")] = by_block[block] * rng.lognormal(0, noise, len(block))
    return out.assign(trace_id=[f"t{i}" for i in range(len(out))])


def evidence(
    requests: pd.DataFrame | None = None,
    series: pd.DataFrame | None = None,
    *,
    events: tuple[Event, ...] = (),
    facts: tuple[Fact, ...] = (),
    watched: frozenset[str] = frozenset(),
    symptom: Signal | None = None,
) -> Evidence:
    empty = rows().iloc[:0]
    joined = Evidence(
        requests=empty if requests is None else requests,
        series=empty if series is None else series.drop(columns="trace_id"),
        events=events,
        facts=facts,
        coverage=Coverage(watched=watched),
    )
    found = None if symptom is None else told(symptom)
    return replace(with_windows(joined, Windows(Window(BEGIN, ONSET), Window(ONSET, END))), symptom=found)


def told(signal: Signal, statistic: str = "mean") -> Symptom:
    kind = Kind.ERRORS if signal is ERROR else Kind.LATENCY
    return Symptom(kind, "chat", signal, statistic, ONSET, 1.0, 2.0, Interval(2.0, 1.8, 2.2))


def outcome(test: Test, seen: Evidence) -> Outcome:
    reading = test.read(seen)
    assert reading.reason
    return reading.outcome
