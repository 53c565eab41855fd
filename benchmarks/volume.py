"""A diagnosis over many spans that are in a store already: does its cost depend on the volume?

    python -m benchmarks.volume load FOLDER SPANS       fill the store
    python -m benchmarks.volume diagnose FOLDER RUNS    print the seconds per step of each run as JSON

Two processes, so that the memory of a diagnosis is not that of loading. In the second half of the spans
everything takes twice as long, so there is a symptom and the answer goes all the way, self-attack included.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.generate import genai_trace_requests
from correlator.join.build import build
from correlator.join.windows import with_found_windows
from correlator.model.records import Batch, Signal
from correlator.store import Store
from correlator.wiring import engine

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Steps:
    """Seconds per step of one diagnosis."""

    build: float
    windows: float
    answer: float


def load(folder: Path, spans: int) -> None:
    """Fill the store in `folder`."""
    with Store.open(folder) as store:
        store.load(Batch(Signal.TRACES, request) for request in genai_trace_requests(spans, slower_after=spans // 2))


def diagnose(folder: Path) -> Steps:
    """One diagnosis of everything in the store; store and engine are ready before the clock starts."""
    judge = engine()
    with Store.open(folder) as store:
        build_s, joined = _timed(lambda: build(store))
        windows_s, evidence = _timed(lambda: with_found_windows(joined.evidence))
        answer_s, answer = _timed(lambda: judge.answer(evidence))
    if evidence.symptom is None or not answer.stability.runs:
        raise SystemExit("the slower half was not found, so this was not a whole diagnosis")
    return Steps(build_s, windows_s, answer_s)


def _timed(action: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        print(json.dumps([asdict(diagnose(Path(sys.argv[2]))) for _ in range(int(sys.argv[3]))]))
