"""What a model call leaves behind: the client's span, log and measurements, and the engine's span."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

from benchmarks.lab.engine import Job
from benchmarks.lab.engine_log import VERSION
from benchmarks.lab.telemetry import SECONDS, TOKENS, Source, Telemetry

SERVER, CLIENT = 2, 3
ASKED = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "tiny-llama",
    "server.address": "127.0.0.1",
    "server.port": 8100,
}


@dataclass(frozen=True)
class Failure(Exception):
    """A call that brought no answer."""

    type: str
    message: str
    cause: str = ""
    """What it was raised from, which the log shows and the span does not."""


REFUSED = Failure("APIConnectionError", "Connection error.", "httpx.ConnectError: [Errno 111] Connection refused")
DROPPED = Failure(
    "APIConnectionError", "Connection error.",
    "httpx.RemoteProtocolError: Server disconnected without sending a response.",
)  # fmt: skip


def record_served(telemetry: Telemetry, source: Source, ids: tuple[str, str], job: Job) -> None:
    """The engine's span under trace and root span; a request that was refused or given up has none."""
    if job.status != 200 or job.scheduled is None or job.first_token is None:
        return
    values = {
        "gen_ai.latency.time_to_first_token": job.first_token - job.arrived,
        "gen_ai.latency.e2e": job.last_token - job.arrived,
        "gen_ai.latency.time_in_queue": job.scheduled - job.queued,
        "gen_ai.usage.prompt_tokens": job.prompt,
        "gen_ai.usage.completion_tokens": job.generated,
        "gen_ai.latency.time_in_model_prefill": job.first_token - job.scheduled,
        "gen_ai.latency.time_in_model_decode": job.last_token - job.first_token,
        "gen_ai.latency.time_in_model_inference": job.last_token - job.scheduled,
        "gen_ai.request.id": job.id,
        "gen_ai.request.max_tokens": job.max_tokens,
        "gen_ai.request.n": 1,
    }
    own = (ids[0], telemetry.span_id(), ids[1])
    telemetry.span(source, "llm_request", SERVER, own, job.arrived, job.left, values)


def record_call(
    telemetry: Telemetry, source: Source, ids: tuple[str, str, str], times: tuple[float, float], job: Job,
    failure: Failure | None, model: str,
) -> None:  # fmt: skip
    """The client's span (`ids`: trace, own, parent), its duration, and on success its log line and its tokens."""
    genai = replace(source, scope="opentelemetry.instrumentation.genai.openai")
    asked = ASKED | ({"gen_ai.request.model": job.adapter} if job.adapter else {})
    answered_by = {"gen_ai.response.model": asked["gen_ai.request.model"]}
    labels = asked | ({"error.type": failure.type} if failure else answered_by)
    values = labels | {"gen_ai.request.max_tokens": job.max_tokens} | ({} if failure else _answered(job, model))
    values |= {"gen_ai.output.type": "json"} if job.schema else {}
    values |= {"gen_ai.response.time_to_first_chunk": job.first_seen - times[0]} if job.first_seen else {}
    error = (failure.type, failure.message) if failure else None
    telemetry.span(genai, f"chat {asked['gen_ai.request.model']}", CLIENT, ids, *times, values, error)
    name, begun, now = "gen_ai.client.operation.duration", *times
    telemetry.measure(genai, name, "s", SECONDS, labels, now, now - begun, ids[:2])
    if failure:
        return
    text = f"answered request prompt_tokens={job.prompt} completion_tokens={job.generated} finish={_finish(job)}"
    telemetry.log(replace(source, scope="rag"), now, "INFO", text, (ids[0], ids[2]))
    for kind, tokens in (("input", job.prompt), ("output", job.generated)):
        typed, name = labels | {"gen_ai.token.type": kind}, "gen_ai.client.token.usage"
        telemetry.measure(genai, name, "{token}", TOKENS, typed, now, tokens, ids[:2])


def _answered(job: Job, model: str) -> dict[str, object]:
    return {
        "gen_ai.response.finish_reasons": [_finish(job)],
        "gen_ai.response.id": job.id,
        "gen_ai.usage.input_tokens": job.prompt,
        "gen_ai.usage.output_tokens": job.generated,
        "openai.response.system_fingerprint": f"vllm-{VERSION}-{crc32(model.encode()):08x}",
    }


def _finish(job: Job) -> str:
    return "length" if job.output >= job.max_tokens else "stop"


def refusal(job: Job, limit: int) -> Failure:
    """The client's error for what the engine did not answer."""
    if job.status == 500:
        return Failure(
            "InternalServerError", "Error code: 500 - {'error': {'message': 'EngineCore died', 'code': 500}}"
        )
    asked = job.prompt + job.max_tokens
    why = (
        "1 validation error: {'type': 'extra_forbidden', 'loc': ('body', 'tool_resources'), 'msg': 'Extra inputs are "
        "not permitted'}"
        if job.malformed
        else f"This model's maximum context length is {limit} tokens. However, you requested {asked} tokens "
        f"({job.prompt} in the messages, {job.max_tokens} in the completion). Please reduce the length of the messages "
        "or completion."
    )
    body = f"{{'message': \"{why}\", 'type': 'BadRequestError', 'param': None, 'code': 400}}"
    return Failure("BadRequestError", f"Error code: 400 - {{'error': {body}}}")
