"""Answers that end at their limit whatever they say of it, and messages that no longer fit their schema."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import (
    CHANGE,
    calls,
    failed,
    moments,
    ready,
    response,
    seen_by_client,
    started,
    usage,
    versioned,
)
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span

RUN = 120.0


def tool_calls(cut: int) -> Files:
    """3,600 generations, all of which say tool_calls; so many have exactly as many tokens as were allowed."""
    every = 3600 // cut if cut else 3601
    rows = []
    for i, t in moments(3600.0):
        at_limit = cut and i % every == 0
        tokens = 4096 if at_limit else 200 + i % 90
        rows.append(response(i, t, 900, tokens, seconds=tokens * 0.01, finish="tool_calls", max_tokens=4096))
    return {"usage.jsonl": usage(rows)}


def adapted(limit: int) -> Files:
    """An adapter that always says stop; answers of 60 tokens, or as many as are allowed."""
    rows = []
    for i, t in moments(RUN):
        tokens = min(limit, 50 + i % 20)
        rows.append(response(i, t, 300, tokens, seconds=tokens * 0.01, finish="stop", max_tokens=limit))
    return {"usage.jsonl": usage(rows)}


UNTERMINATED = "json.decoder.JSONDecodeError: Unterminated string starting at: line 1 column 10"


def structured() -> Files:
    """Answers of an agent; the longer ones meet the default of 4096 tokens and cannot be parsed."""

    def made(i: int, t: float) -> list[Span]:
        cut = t >= CHANGE and i % 4 == 0
        tokens = 4096 if cut else 600 + i % 300
        told = {"gen_ai.request.max_tokens": 4096, "gen_ai.usage.output_tokens": tokens}
        if cut:
            return failed(i, t, UNTERMINATED, 20.0, **told)
        return seen_by_client(i, t, tokens * 0.005, **told)

    return {"calls.binpb": calls(made)}


FORBIDDEN = (
    "Error code: 400 - 1 validation error for SystemMessage: injected: Extra inputs are not permitted "
    "[type=extra_forbidden]"
)
UNREADABLE = "error parsing the server's answer: missing field `object`"


def upgraded(client: bool, message: str, every: int) -> Files:
    """Since another version of the client, or of the server, calls fail with this message."""

    def before(i: int, t: float) -> list[Span]:
        return seen_by_client(i, t, 0.5) if t < CHANGE else []

    def after(i: int, t: float) -> list[Span]:
        if t < CHANGE:
            return []
        return failed(i, t, message) if i % every == 0 else seen_by_client(i, t, 0.5)

    names = ("2.6.2", "2.7.0") if client else ("1", "1")
    files: dict[str, str | bytes] = {
        "old.binpb": versioned(calls(before), names[0]),
        "new.binpb": versioned(calls(after), names[1]),
    }
    if not client:
        old, new = (
            "".join([*started(t), ready(t + 3)]).replace("v0.20.2", version)
            for t, version in ((-20, "v0.10.0"), (CHANGE - 4, "v0.10.1"))
        )
        files["vllm.log"] = old + new
    return files


CASES = (
    Report(
        id="C113",
        agree=2,
        cause="output_truncation",
        decisive=True,
        suspects=("model_change", "schema_mismatch"),
        before=lambda: tool_calls(0),
        files=lambda: tool_calls(25),
        asked=Kind.QUALITY,
        fails="0.7 % of cut answers is less than the smallest share worth naming",
    ),
    Report(
        id="C115",
        agree=3,
        cause="output_truncation",
        decisive=True,
        suspects=("model_change", "schema_mismatch"),
        before=lambda: adapted(2048),
        files=lambda: adapted(20),
    ),
    Report(
        id="C116",
        agree=3,
        cause="output_truncation",
        decisive=True,
        suspects=("schema_mismatch", "model_change"),
        files=structured,
    ),
    Report(
        id="C118",
        agree=2,
        cause="schema_mismatch",
        decisive=True,
        suspects=("output_truncation", "context_overflow"),
        files=lambda: upgraded(client=False, message=UNREADABLE, every=3),
    ),
    Report(
        id="C119",
        agree=2,
        cause="schema_mismatch",
        decisive=True,
        suspects=("output_truncation", "context_overflow"),
        files=lambda: upgraded(client=True, message=FORBIDDEN, every=1),
    ),
)
