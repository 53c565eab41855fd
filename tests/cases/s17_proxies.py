"""Proxies that hold answers back, or end them at an age of their own."""

from __future__ import annotations

from tests.cases.inputs import call, calls, drift, failed
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span

RUN = 120.0
HOUR = 3600.0
GAVE_UP = "HTTP 504: upstream timed out (110: Connection timed out) while reading response header from upstream"


def streamed(first: float) -> Files:
    """The engine sends its first token after half a second; the client has it after `first`, and then 65 at once."""

    def made(i: int, t: float) -> list[Span]:
        told = {"gen_ai.response.time_to_first_chunk": first + i % 10 / 10, "gen_ai.usage.output_tokens": 130}
        return call(i, t, first=0.5, per_token=16.5 / 65, answer=130, told=told)

    return {"calls.binpb": calls(made, RUN)}


def capped() -> Files:
    """Answers of ten to thirty minutes; behind nginx those beyond its 900 s end there, while the backend goes on.

    Before, as healthy context, none takes longer than that.
    """

    def made(i: int, t: float) -> list[Span]:
        takes = 600 * drift(i, 0.25) if t < HOUR else 600 + 1200 * (i * 7 % 10) / 9
        if takes > 900:
            return failed(i, t, GAVE_UP, 900.0 + i % 5 / 50)
        return call(i, t, first=takes / 2, per_token=takes / 120, tokens=9000)

    return {"calls.binpb": calls(made, 2 * HOUR, 40.0)}


CASES = (
    Report(
        id="C145",
        agree=2,
        cause="proxy_buffering",
        decisive=True,
        suspects=("prefill_head_of_line", "traffic_surge", "input_token_inflation"),
        before=lambda: streamed(0.5),
        files=lambda: streamed(16.5),
    ),
    Report(
        id="C149",
        agree=2,
        cause="proxy_buffering",
        suspects=("client_pool_exhaustion", "keepalive_mismatch", "output_token_inflation"),
        files=capped,
        change=HOUR,
        end=2 * HOUR,
    ),
)
