"""Small files as services leave them: calls as traces, pages of metrics, lines of logs, samples of nvidia-smi.

A service is asked once a second, for two minutes before a change and two minutes after it; of two runs that are
compared each lasts two minutes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from correlator.model.moments import rfc3339
from tests.correlator.join.telemetry import Span, Value, at, chat, served, traces
from tests.hypotheses.bundles import line as app
from tests.hypotheses.files_a import line as vllm
from tests.hypotheses.files_a import ready, started

__all__ = ["app", "ready", "started", "vllm"]

CHANGE, END = 120.0, 240.0
UUID = "GPU-5f0a4c11-0000-4000-8000-000000000001"


def moments(end: float = END, every: float = 1.0, start: float = 0.0) -> Iterator[tuple[int, float]]:
    """Number and second of each call."""
    yield from enumerate(np.arange(start, end, every).tolist())


def calls(of: Callable[[int, float], list[Span]], end: float = END, every: float = 1.0) -> bytes:
    """What becomes of each call, as an OTLP request."""
    return traces(span for i, start in moments(end, every) for span in of(i, start)).payload


def versioned(payload: bytes, version: str) -> bytes:
    """The same spans, of services that name their version."""
    request = ExportTraceServiceRequest.FromString(payload)
    for spans in request.resource_spans:
        spans.resource.attributes.add(key="service.version").value.string_value = version
    return request.SerializeToString()


def drift(i: int, spread: float = 0.1) -> float:
    """Between two calls of one service nothing is equal."""
    return float(np.random.default_rng(i).lognormal(0, spread))


def call(
    i: int,
    start: float,
    *,
    first: float = 0.05,
    per_token: float = 0.01,
    tokens: int = 300,
    answer: int = 60,
    told: Mapping[str, Value] | None = None,
    engine: Mapping[str, Value] | None = None,
) -> list[Span]:
    """A client's call of a model and the engine's span of it: the first token after `first` seconds."""
    first = first * drift(i + 10_000)
    whole = first + (answer - 1) * per_token * drift(i)
    reported: dict[str, Value] = {
        "gen_ai.latency.time_in_queue": 0.001,
        "gen_ai.latency.time_in_model_prefill": first - 0.001,
        "gen_ai.latency.time_in_model_decode": whole - first,
        "gen_ai.latency.time_to_first_token": first,
        "gen_ai.latency.e2e": whole,
        "gen_ai.usage.prompt_tokens": tokens,
        "gen_ai.usage.completion_tokens": answer,
        **(engine or {}),
    }
    ends = start + whole + 0.01
    return [
        chat(id="c", trace=f"{i}", start=start, end=ends, attributes=dict(told or {})),
        served(id="s", parent="c", trace=f"{i}", start=start + 0.005, end=ends - 0.005, attributes=reported),
    ]


def seen_by_client(i: int, start: float, seconds: float, **told: Value) -> list[Span]:
    """A call that only its client tells of."""
    lasted = seconds * drift(i)
    return [chat(id="c", trace=f"{i}", start=start, end=start + lasted, attributes=told)]


def failed(i: int, start: float, message: str, seconds: float = 0.02, **told: Value) -> list[Span]:
    """A call that ends with an error."""
    return [chat(id="c", trace=f"{i}", start=start, end=start + seconds, failed=True, message=message, attributes=told)]


def stats(
    seconds: float, tokens: float, running: int, waiting: int, kv: float, hits: float = 0.0, prompt: float = 90.0
) -> str:
    """vLLM's line of every ten seconds."""
    return vllm(
        seconds,
        f"INFO Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {tokens:.1f} "
        f"tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {kv:.1f}%, "
        f"Prefix cache hit rate: {hits:.1f}%",
    )


def page(end: float = END, every: float = 5.0, **series: Callable[[float], float]) -> str:
    """A scraped page every few seconds; a series is named as vLLM names it, `_total` makes it a counter."""
    lines = []
    for name, value in series.items():
        full = f"vllm:{name}"
        lines.append(f"# TYPE {full} {'counter' if name.endswith('_total') else 'gauge'}")
        lines += [f'{full}{{model_name="m"}} {value(t):g} {at(t) // 10**6}' for _, t in moments(end, every)]
    return "\n".join(lines) + "\n"


def smi(end: float = END, every: float = 2.0, **columns: Callable[[float], float | str]) -> str:
    """`nvidia-smi --query-gpu=timestamp,uuid,… --format=csv -l 2`; two underscores stand for a dot."""
    units = {"power": " [W]", "clocks": " [MHz]", "utilization": " [%]", "memory": " [MiB]"}
    names = [name.replace("__", ".") for name in columns]
    header = [f"{name}{units.get(name.partition('.')[0], '')}" for name in names]
    rows = [", ".join(["timestamp", "uuid", *header])]
    for _, t in moments(end, every):
        stamp = datetime.fromtimestamp(at(t) / 1e9, UTC)
        cells = [_cell(name, of(t)) for name, of in zip(names, columns.values(), strict=True)]
        rows.append(", ".join([f"{stamp:%Y/%m/%d %H:%M:%S}.{stamp.microsecond // 1000:03d}", UUID, *cells]))
    return "\n".join(rows) + "\n"


def _cell(name: str, value: float | str) -> str:
    units = {"power": "W", "clocks": "MHz", "utilization": "%", "memory": "MiB"}
    unit = units.get(name.partition(".")[0], "")
    return (
        value
        if isinstance(value, str)
        else f"{value:.2f} {unit}".strip()
        if unit == "W"
        else f"{value:.0f} {unit}".strip()
    )


def usage(rows: Iterable[Mapping[str, object]]) -> str:
    """Responses of an API, one JSON object a line."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def response(
    i: int,
    start: float,
    prompt: int,
    answer: int,
    *,
    seconds: float | None = None,
    finish: str = "stop",
    cached: int | None = None,
    **more: object,
) -> dict[str, object]:
    """A chat completion as a client logs it."""
    told: dict[str, object] = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    if cached is not None:
        told["prompt_tokens_details"] = {"cached_tokens": cached}
    found: dict[str, object] = {
        "id": f"chatcmpl-{i}",
        "object": "chat.completion",
        "created": at(start) / 1e9,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish}],
        "usage": told,
        **more,
    }
    return found if seconds is None else {**found, "latency_s": seconds}


def event(seconds: float, reason: str, message: str, kind: str = "Warning") -> dict[str, object]:
    """An event of a pod, as Kubernetes lists it."""
    when = rfc3339(at(seconds))
    return {
        "kind": "Event", "type": kind, "reason": reason, "message": message, "count": 1,
        "firstTimestamp": when, "lastTimestamp": when,
        "involvedObject": {"kind": "Pod", "name": "vllm-0", "namespace": "serving"},
        "metadata": {"name": f"vllm-0.{seconds}.{reason}", "namespace": "serving", "creationTimestamp": when},
    }  # fmt: skip


def events(of: Iterable[dict[str, object]], end: float = END) -> str:
    """A list of events, among those of every day."""
    usual = [event(t, "Pulled", "Container image already present on machine", "Normal") for t in (1, end / 4, end - 2)]
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": [*usual, *of]})


def kernel(of: Iterable[tuple[float, str]], end: float = END) -> str:
    """The kernel's log as journald exports it, from before the first call until after the last."""
    lines = [(-600.0, "Linux version 6.8.0"), *of, (end + 1, "eth0: link is up")]
    return "".join(f"{_stamp(t)} node-1 kernel: {text}\n" for t, text in lines)


def _stamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(at(seconds) / 1e9, UTC):%Y-%m-%dT%H:%M:%S+0000}"


def stepped(before: float, then: float, change: float = CHANGE) -> Callable[[float], float]:
    """A level that changes."""
    return lambda t: then if t >= change else before


def counted(before: float, then: float, change: float = CHANGE) -> Callable[[float], float]:
    """A counter that grows by so much a second, before and after a change."""
    return lambda t: before * min(t, change) + then * max(t - change, 0.0)
