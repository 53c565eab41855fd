"""Files as services leave them: traces of calls, pages of metrics, lines of logs, around a change at CHANGE seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from correlator.model.evidence import Window
from correlator.model.findings import Diagnosis, Verdict
from correlator.model.records import Batch
from correlator.wiring import Request, diagnose
from tests.correlator.join.telemetry import Span, Value, at, chat, served, traces

CHANGE, END = 80.0, 160.0
PER_SECOND = 3


def arrivals() -> Iterator[tuple[int, float]]:
    """Number and second of each call, evenly spread and a little jittered."""
    jitter = np.random.default_rng(5).uniform(0, 0.9 / PER_SECOND, int(END * PER_SECOND))
    yield from ((i, float(i / PER_SECOND + jitter[i])) for i in range(len(jitter)))


def call(
    i: int,
    start: float,
    *,
    queue: float = 0.01,
    prefill: float = 0.04,
    per_token: float = 0.005,
    tokens: int = 300,
    told: Mapping[str, Value] | None = None,
) -> list[Span]:
    """A client's call that is answered with 60 tokens, and the engine's span of it."""
    drift = float(np.random.default_rng(i).lognormal(0, 0.1))
    decode = 59 * per_token * drift
    whole = queue + prefill + decode
    reported: dict[str, Value] = {
        "gen_ai.latency.time_in_queue": queue,
        "gen_ai.latency.time_in_model_prefill": prefill,
        "gen_ai.latency.time_in_model_decode": decode,
        "gen_ai.latency.time_to_first_token": queue + prefill,
        "gen_ai.latency.e2e": whole,
        "gen_ai.usage.prompt_tokens": tokens,
        "gen_ai.usage.completion_tokens": 60,
    }
    ends = start + whole + 0.02
    return [
        chat(id="c", trace=f"{i}", start=start, end=ends, attributes=dict(told or {})),
        served(id="s", parent="c", trace=f"{i}", start=start + 0.01, end=ends - 0.01, attributes=reported),
    ]


def failed(i: int, start: float, seconds: float) -> list[Span]:
    """A call that nobody answers."""
    message = "upstream request timeout"
    return [chat(id="c", trace=f"{i}", start=start, end=start + seconds, failed=True, message=message)]


def calls(of: Callable[[int, float], list[Span]]) -> Batch:
    """What becomes of every arrival."""
    return traces(span for i, start in arrivals() for span in of(i, start))


def line(seconds: float, text: str) -> str:
    """A line of vLLM's log as a container's runtime keeps it."""
    stamp = datetime.fromtimestamp(at(seconds) / 1e9, UTC)
    level, _, rest = text.partition(" ")
    return f"{stamp:%Y-%m-%dT%H:%M:%SZ} {level} {stamp:%m-%d %H:%M:%S} [core.py:1] {rest}\n"


def started(seconds: float, pool: int = 65_536, **settings: object) -> Iterator[str]:
    """What an engine says of itself when it starts."""
    config = {"model": "'m'", "max_seq_len": 2048, "quantization": None} | settings
    listed = ", ".join(f"{name}={value}" for name, value in config.items())
    yield line(seconds, f"INFO Initializing a V1 LLM engine (v0.20.2) with config: {listed}")
    yield line(seconds + 1, f"INFO GPU KV cache size: {pool:,} tokens")


def ready(seconds: float) -> str:
    return line(seconds, "INFO Application startup complete.")


def found(folder: Path, *batches: Batch, log: Iterable[str] = ()) -> Diagnosis:
    """The diagnosis of a folder with these files, the windows before and after the change."""
    for number, batch in enumerate(batches):
        (folder / f"{number}.binpb").write_bytes(batch.payload)
    if lines := "".join(log):
        (folder / "engine.log").write_text(lines)
    windows = Window(at(0), at(CHANGE)), Window(at(CHANGE), at(END))
    return diagnose(Request(paths=[str(folder)], baseline_window=windows[0], incident_window=windows[1]))


def supported(diagnosis: Diagnosis) -> list[str]:
    """Supported causes, most probable first."""
    return [f.hypothesis for f in diagnosis.findings if f.verdict is Verdict.SUPPORTED]
