"""Small bundles of files, as people have them at hand, and what `tollens diagnose` says of them.

A service answers two requests a second for two minutes, the first of them healthy; a test says what a request's spans
are and what the logs tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from correlator.model.evidence import Window
from correlator.model.findings import Diagnosis, Finding, Verdict
from correlator.model.moments import rfc3339
from correlator.wiring import Request, diagnose
from tests.correlator.join.telemetry import Span, at, chat, root, served, traces

MINUTE, EVERY = 60.0, 0.5
Made = Callable[[str, float, bool, np.random.Generator], Sequence[Span]]


def request(trace: str, start: float, model_s: float, *before: Span, **fields: object) -> list[Span]:
    """A request: what comes `before` one after the other, then the model's call with its serving side."""
    began = max((span.end for span in before), default=start) + 0.005
    end = began + model_s
    more = fields.pop("model", {})
    ended = fields.pop("ended", None) or end + 0.005
    call = {"trace": trace, "start": began, "end": end}
    return [
        root(trace=trace, start=start, end=ended, **fields),
        *before,
        chat(
            id="chat",
            parent="root",
            **call,
            attributes={"gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 50} | dict(more),
        ),  # type: ignore[call-overload]
        served(id="llm", parent="chat", trace=trace, start=began + 0.002, end=end - 0.002),
    ]


def written(folder: Path, made: Made, **texts: str) -> list[str]:
    """Files of the bundle: traces of each request, and texts by the stem of their file."""
    rng = np.random.default_rng(3)
    spans = [
        span
        for i, start in enumerate(np.arange(0, 2 * MINUTE, EVERY))
        for span in made(f"t{i}", float(start), start >= MINUTE, rng)
    ]
    (folder / "traces.binpb").write_bytes(traces(spans).payload)
    for stem, text in texts.items():
        (folder / f"{stem}.log").write_text(text)
    return [str(path) for path in sorted(folder.iterdir())]


def line(seconds: float, text: str) -> str:
    """A line of an application's log."""
    return f"{rfc3339(at(seconds))} {text}\n"


def diagnosed(paths: Sequence[str]) -> Diagnosis:
    """The answer, for a minute against the one before."""
    windows = [Window(at(a), at(b)) for a, b in ((0, MINUTE), (MINUTE, 2 * MINUTE))]
    return diagnose(Request(paths=paths, baseline_window=windows[0], incident_window=windows[1]))


def of(diagnosis: Diagnosis, id: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.hypothesis == id)


def supported(diagnosis: Diagnosis) -> set[str]:
    return {finding.hypothesis for finding in diagnosis.findings if finding.verdict is Verdict.SUPPORTED}


def around(rng: np.random.Generator, mean: float) -> float:
    return float(mean * rng.lognormal(0, 0.2))
