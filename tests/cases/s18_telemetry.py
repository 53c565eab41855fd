"""Telemetry that is wrong or torn while the service is well."""

from __future__ import annotations

from correlator.model.evidence import Kind
from tests.cases.inputs import CHANGE, calls, drift, ready, seen_by_client, started, stats
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import CLIENT, Span, root

RUN = 120.0


def claimed(steps: int, tokens: float) -> Files:
    """The engine's line counts one call of the scheduler as one token; the client measures 13.8 tokens a second."""
    log = [*started(-20, num_scheduler_steps=steps), ready(-10)]
    log += [stats(t, tokens + t % 3 / 100, 1, 0, 2.0) for t in range(0, int(RUN), 10)]
    measured = calls(lambda i, t: seen_by_client(i, t, 60 / 13.8, **{"gen_ai.usage.output_tokens": 60}), RUN, 5.0)
    return {"vllm.log": "".join(log), "calls.binpb": measured}


def unended(i: int, t: float) -> list[Span]:
    """An agent's call, a model call in it and a tool in that; after the change the model's span never arrives."""
    end = t + 0.8 * drift(i)
    inner = {"trace": f"{i}", "start": t + 0.1, "end": end - 0.1}
    model = Span(id="call_llm", parent="root", name="call_llm", **inner)  # type: ignore[arg-type]
    tool = Span(id="tool", parent="call_llm", name="execute_tool", **inner)  # type: ignore[arg-type]
    whole = root(trace=f"{i}", start=t, end=end)
    return [whole, tool] if t >= CHANGE else [whole, model, tool]


NAMES = ("conversation", "send_message", "run")


def split(i: int, t: float) -> list[Span]:
    """A conversation in one trace; after the change its pieces are roots of traces of their own (63 % of them)."""
    parts = [Span(id=f"p{k}", name=name, trace=f"{i}", kind=CLIENT if k else "SERVER", parent="p0" if k else "",
                  start=t + 0.1 * k, end=t + 0.9 * drift(i) - 0.1 * k) for k, name in enumerate(NAMES)]  # fmt: skip
    if t < CHANGE:
        return parts
    return [Span(**{**{f: getattr(p, f) for f in p.__dataclass_fields__}, "trace": f"{i}-{p.id}", "parent": "",
                    "kind": "SERVER"}) for p in parts]  # fmt: skip


CASES = (
    Report(
        id="C151",
        agree=3,
        cause="telemetry_artifact",
        decisive=True,
        suspects=("cuda_graphs_disabled", "batch_past_sweet_spot", "model_change"),
        before=lambda: claimed(1, 13.8),
        files=lambda: claimed(10, 1.4),
        asked=Kind.THROUGHPUT,
        fails="a metric that is wrong by itself: nothing of it is lost or refused",
    ),
    Report(
        id="C154",
        agree=2,
        cause="telemetry_artifact",
        decisive=True,
        suspects=("dependency_slow", "recent_change"),
        files=lambda: {"calls.binpb": calls(unended)},
    ),
    Report(
        id="C155",
        agree=3,
        cause="telemetry_artifact",
        suspects=("traffic_surge", "recent_change"),
        files=lambda: {"calls.binpb": calls(split)},
        fails="pieces of a conversation are traces of their own, and each of them is whole",
    ),
)
