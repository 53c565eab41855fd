"""What is seen of a simulated incident: everything, or what is left when signals are missing, lost or skewed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SKEW_NS = 250_000_000
"""An engine host whose clock runs ahead by as much as NTP corrects by stepping (128 ms) and more."""
KEPT = 0.2
"""Share of the traces that head sampling keeps."""
LOST = 0.1
"""Share of export requests that a full queue loses."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`paths` are the files to read of a capture's folder, some of them written by it; `given`: windows are told, with
    an onset that is wrong by `onset_s` seconds."""

    paths: Callable[[Path], Sequence[Path]]
    given: bool = True
    onset_s: float = 0.0


def whole(folder: Path) -> list[Path]:
    """Everything in a capture but its truth and what other patterns wrote."""
    return sorted(p for p in folder.iterdir() if p.name != "truth.json" and not p.name.startswith("seen-"))


def _but(*names: str) -> Callable[[Path], list[Path]]:
    return lambda folder: [p for p in whole(folder) if p.name not in names]


def _sampled(folder: Path) -> list[Path]:
    """A fifth of the traces, chosen by id as head sampling does."""

    def kept(span: dict[str, str]) -> bool:
        return int(span["traceId"][:8], 16) < KEPT * 2**32

    def thinned(line: str) -> str:
        request = json.loads(line)
        for resource in request["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                scope["spans"] = [span for span in scope["spans"] if kept(span)]
        return json.dumps(request)

    return _with_traces(folder, "seen-sampled.jsonl", map(thinned, _lines(folder)))


def _lossy(folder: Path) -> list[Path]:
    """A tenth of the export requests with spans never arrived; which ones, the incident's seed and name say."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    rng = np.random.default_rng([truth["seed"], *f"{truth['name']} lossy".encode()])
    return _with_traces(folder, "seen-lossy.jsonl", (line for line in _lines(folder) if rng.random() >= LOST))


def _skewed(folder: Path) -> list[Path]:
    """The engine's spans carry times of a clock that runs ahead."""

    def ahead(line: str) -> str:
        request = json.loads(line)
        for resource in request["resourceSpans"]:
            if '"vllm"' in json.dumps(resource["resource"]):
                for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
                    for moment in ("startTimeUnixNano", "endTimeUnixNano"):
                        span[moment] = str(int(span[moment]) + SKEW_NS)
        return json.dumps(request)

    return _with_traces(folder, "seen-skewed.jsonl", map(ahead, _lines(folder)))


def _lines(folder: Path) -> list[str]:
    return (folder / "traces.jsonl").read_text(encoding="utf-8").splitlines()


def _with_traces(folder: Path, name: str, lines: Iterable[str]) -> list[Path]:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [*_but("traces.jsonl")(folder), folder / name]


PATTERNS = {
    "given": Pattern(whole),
    "found": Pattern(whole, given=False),
    "onset early": Pattern(whole, onset_s=-60.0),
    "onset late": Pattern(whole, onset_s=60.0),
    "no traces": Pattern(_but("traces.jsonl")),
    "no metrics": Pattern(_but("metrics.jsonl", "scrape", "scrape-1", "dcgm")),
    "engine log only": Pattern(lambda folder: [folder / "vllm.log"]),
    "sampled": Pattern(_sampled),
    "lossy": Pattern(_lossy),
    "skewed": Pattern(_skewed),
}
"""By name. All that lack a signal must answer *untestable* or *inconclusive* where it was the decisive one."""
