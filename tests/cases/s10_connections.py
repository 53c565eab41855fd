"""Connections and retries: pings that count as abuse, and layers that each try again."""

from __future__ import annotations

from tests.cases.inputs import CHANGE, END, app, call, calls, failed, seen_by_client
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span

GOAWAY = "UNAVAILABLE: GOAWAY received; Error code: ENHANCE_YOUR_CALM; Debug data: too_many_pings"


def pinged(long_only: bool) -> Files:
    """Calls end with the server's GOAWAY: those with long prefills, or a share of all."""

    def made(i: int, t: float) -> list[Span]:
        long = i % 4 == 0
        if t >= CHANGE and (long if long_only else i % 5 < 2):
            return failed(i, t, GOAWAY, 30.0 if long_only else 0.3)
        return call(i, t, first=20.0 if long else 0.05, tokens=60_000 if long else 300)

    return {"calls.binpb": calls(made)}


RETRIED = (
    "litellm.RateLimitError: RateLimitError: 429 Too Many Requests. LiteLLM Retried: 10 times, LiteLLM Max Retries: 10"
)


def exhausted(i: int, t: float) -> list[Span]:
    """A router's request: ten tries of the primary and ten of the fallback group within seconds, all refused."""
    if t < CHANGE or i % 2:
        return seen_by_client(i, t, 0.6)
    return failed(i, t, RETRIED, 6.0)


def router() -> Files:
    """What the router logs of them, for the primary and again for the fallback group."""
    lines = [app(t, "INFO LiteLLM Router: selected deployment") for t in range(0, int(END), 5)]
    for t in range(int(CHANGE), int(END), 2):
        lines += [app(t + 3, f"ERROR LiteLLM Router: {RETRIED}"), app(t + 6, f"ERROR LiteLLM Router: {RETRIED}")]
    return {"router.log": "".join(lines), "calls.binpb": calls(exhausted)}


OVERLOADED = "Error code: 529 - overloaded_error"


def agent() -> Files:
    """529 responses for minutes; layer 2 waits 1.0 s once, layer 3 not at all, and the run dies within seconds."""
    lines = [app(t, "INFO agent step") for t in range(0, int(END), 5)]
    for t in range(int(CHANGE), int(END), 4):
        lines += [app(t, f"WARNING {OVERLOADED}, retrying in 1.0s"), app(t + 1, f"WARNING {OVERLOADED}, retrying")]
        lines.append(app(t + 1.2, f"ERROR run failed: {OVERLOADED}"))
    died = calls(lambda i, t: failed(i, t, OVERLOADED, 1.5) if t >= CHANGE else seen_by_client(i, t, 0.6))
    return {"agent.log": "".join(lines), "calls.binpb": died}


CASES = (
    Report(
        id="C073",
        agree=3,
        cause="keepalive_mismatch",
        suspects=("proxy_buffering", "retry_storm"),
        files=lambda: pinged(long_only=True),
    ),
    Report(
        id="C074",
        agree=3,
        cause="keepalive_mismatch",
        suspects=("proxy_buffering", "retry_storm"),
        files=lambda: pinged(long_only=False),
    ),
    Report(
        id="C079",
        agree=2,
        cause="retry_storm",
        decisive=True,
        suspects=("context_overflow", "proxy_buffering"),
        files=router,
    ),
    Report(id="C080", agree=2, cause="retry_storm", suspects=("schema_mismatch", "proxy_buffering"), files=agent),
)
