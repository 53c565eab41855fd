"""Token inflation: histories that are sent twice, and prompts that outgrow what the model takes."""

from __future__ import annotations

from tests.cases.inputs import CHANGE, call, calls, failed, response, usage
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span

TURNS = 4


def histories(stacked: bool) -> Files:
    """Conversations of four turns; stacked, each new message repeats all earlier ones once more.

    The report has no counts: a turn adds 400 tokens here, and a prompt takes 0.1 ms a token to read.
    """
    rows = []
    for i in range(120):
        turn = i % TURNS + 1
        prompt = 400 * turn + (400 * turn * (turn - 1) // 2 if stacked else 0)
        rows.append(response(i, float(i), prompt, 60, seconds=0.2 + prompt * 1e-4))
    return {"usage.jsonl": usage(rows)}


TOO_LONG = "Error code: 400 - invalid_request_error: prompt is too long: 204980 tokens > 200000 maximum"


def long_chat(i: int, start: float) -> list[Span]:
    """Of the later chats every third has grown beyond what is allowed."""
    if start >= CHANGE and i % 3 == 0:
        return failed(i, start, TOO_LONG)
    return call(i, start, tokens=20_000 if start < CHANGE else 60_000)


CASES = (
    Report(
        id="C013",
        agree=2,
        cause="input_token_inflation",
        suspects=("output_token_inflation", "prefix_cache_collapse"),
        before=lambda: histories(stacked=False),
        files=lambda: histories(stacked=True),
    ),
    Report(
        id="C014",
        agree=2,
        cause="context_overflow",
        decisive=True,
        suspects=("schema_mismatch", "output_truncation"),
        files=lambda: {"calls.binpb": calls(long_chat)},
    ),
)
