"""Evidence in a few words: `window(served(), then=served(input_tokens=1100))`, joined as the product joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from correlator.join.symptom import find_symptom
from correlator.join.ties import tie, with_events
from correlator.model.evidence import (
    BLOCK_NS,
    Coverage,
    Event,
    Evidence,
    Fact,
    Kind,
    Window,
    Windows,
    with_windows,
)
from correlator.model.findings import Outcome, Verdict
from correlator.model.names import ERROR, Events, Signal
from hypotheses._contract import Hypothesis
from hypotheses._judge import Judged, judge_all
from hypotheses._registry import all_hypotheses
from tests.hypotheses.served import Served, served, stretch

__all__ = [
    "Case",
    "Served",
    "could_be_supported",
    "event",
    "fact",
    "judge",
    "only_series",
    "seen",
    "served",
    "switched",
    "unseen",
    "window",
]

BEGIN = 1_700_000_000_000_000_000
BLOCKS = 12
ALL_SOURCES = frozenset(
    {
        "traces",
        "engine_log",
        "application_log",
        "engine_metrics",
        "adapter_metrics",
        "instance_ids",
        "process_metrics",
        "error_texts",
    }
)


@dataclass(frozen=True)
class Case:
    """Evidence, the verdict it must give, the prediction that refutes or the signal that is missing."""

    evidence: Evidence
    verdict: Verdict
    by: str = ""
    missing: Signal | str = ""


def window(
    before: Served,
    then: Served | None = None,
    *,
    blocks: int = BLOCKS,
    seed: int = 1,
    events: tuple[Event, ...] = (),
    facts: tuple[Fact, ...] = (),
    watched: frozenset[str] = ALL_SOURCES,
    kind: Kind | None = None,
) -> Evidence:
    """A baseline and an incident of `blocks` blocks each, side by side; without `then` nothing happened."""
    rng = np.random.default_rng(seed)
    onset = BEGIN + blocks * BLOCK_NS
    sides = [stretch(before, BEGIN, blocks, rng), stretch(then or before, onset, blocks, rng)]
    requests, series = (pd.concat(frames, ignore_index=True) for frames in zip(*sides, strict=True))
    requests["error_text"] = np.where((requests[ERROR.name] > 0) & ~requests["too_long"], "internal error", "")
    refused = requests.loc[requests.pop("too_long"), ["start", "trace_id"]]
    overflows = [Event(Events.CONTEXT_OVERFLOW, int(at), "chat", id) for at, id in refused.to_numpy()]
    events = tuple(sorted((*events, *overflows), key=lambda e: e.unix_nano))
    requests, _ = tie(with_events(requests, events), series)
    evidence = Evidence(requests, series, events, facts, Coverage(watched=watched))
    windows = Windows(Window(BEGIN, onset), Window(onset, onset + blocks * BLOCK_NS))
    return seen(with_windows(evidence, windows), kind)


def seen(evidence: Evidence, kind: Kind | None = None) -> Evidence:
    """The evidence with its symptom found."""
    return replace(evidence, symptom=find_symptom(evidence, kind))


def unseen(evidence: Evidence, *signals: Signal) -> Evidence:
    """The evidence as if these signals had never been measured."""
    return evidence.without(frozenset(s.name for s in signals))


def only_series(evidence: Evidence) -> Evidence:
    """The evidence of somebody who has metrics and no traces."""
    return seen(replace(evidence, requests=evidence.requests.iloc[:0]))


def event(name: str, after: float = 0.0, blocks: int = BLOCKS) -> Event:
    """Something that happened `after` seconds from the onset."""
    return Event(name, BEGIN + blocks * BLOCK_NS + int(after * 1e9), "engine")


def fact(name: str, value: str, after: float, blocks: int = BLOCKS) -> Fact:
    """A value seen `after` seconds from the onset."""
    return Fact(name, value, BEGIN + blocks * BLOCK_NS + int(after * 1e9), "engine")


def switched(name: str, old: str, new: str) -> tuple[Fact, Fact]:
    """A fact that had one value in the baseline and another in the incident."""
    return fact(name, old, -100), fact(name, new, 1)


def judge(evidence: Evidence, id: str) -> Judged:
    """One hypothesis judged by itself."""
    return judge_all([h for h in all_hypotheses() if h.id == id], evidence)[0]


def could_be_supported(hypothesis: Hypothesis, evidence: Evidence) -> bool:
    """Whether every necessary prediction holds before false discoveries are controlled.

    Control only takes away, so where this is false the verdict is not *supported*; asked first, it is quick.
    """
    tests = [p.test for p in hypothesis.predictions if p.necessary]
    return bool(tests) and all(test.read(evidence).outcome is Outcome.HELD for test in tests)
