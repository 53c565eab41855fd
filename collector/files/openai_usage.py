"""Responses in OpenAI's shape, or request logs around them, as JSON lines or an array: spans where a latency is told,
else only their tokens. `created` is when the answer began; its clock counts whole seconds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from collector.attributes import Value, clean
from collector.files._app_json import time_of
from collector.files._contract import Options, Reader, Source
from collector.files._documents import each
from collector.files._emit import Emitter
from collector.files._share import score
from collector.files._spans import Spans, fail, lone_span
from collector.files._stamps import Years
from collector.files._times import SECOND
from correlator.model.records import Batch, Problem

SURE = 0.92
SERVICE = "openai_client"
_USAGE = re.compile(rb'"usage"\s*:\s*\{[^{}]*"(?:prompt|completion|input|output|total)_tokens"\s*:')
_UNITS = {  # seconds a unit
    "_s": 1.0, "_sec": 1.0, "_secs": 1.0, "_seconds": 1.0, "_ms": 1e-3, "_millis": 1e-3, "_milliseconds": 1e-3,
    "_us": 1e-6, "_ns": 1e-9,
}  # fmt: skip
_LATENCY = ("latency", "duration", "elapsed", "elapsed_time", "e2e_latency", "response_time", "total_time", "response",
            "_response")  # fmt: skip
_FIRST_TOKEN = ("ttft", "time_to_first_token")
_LATENCIES = {name + unit: scale for name in _LATENCY for unit, scale in _UNITS.items()}
_FIRST = {name + unit: scale for name in _FIRST_TOKEN for unit, scale in _UNITS.items()}
_NO_UNIT = frozenset({*_LATENCY, *_FIRST_TOKEN})
_STARTS = ("start_time", "startTime", "started_at", "request_time", "timestamp", "time", "ts", "created", "created_at")
_ENDS = ("end_time", "endTime", "finished_at", "ended_at")
_LONGEST_S = 86_400.0


def accepts(source: Source) -> float:
    """By a `usage` with counts of tokens, in JSON, and the share of log lines that have one."""
    if source.head.lstrip()[:1] not in (b"{", b"[") or not _USAGE.search(source.head):
        return 0.0
    return score(source, SURE, lambda text: '"usage"' in text)


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of spans and metrics; an object that is no response is named."""
    log = _Responses(source, Years(options.near_unix_nano, now))

    def take(line: int, value: Any) -> Iterator[Batch | Problem]:
        several = isinstance(value, list)
        for index, one in enumerate(value if several else [value]):
            if reason := log.take(one, line, index):
                yield Problem(source.name, reason, line=line, field=f"[{index}]" if several else None)
        if log.spans.full or log.out.full:
            yield from log.batches()

    yield from each(source, take)
    yield from log.batches()
    yield from log.spans.problems()
    if log.unitless:
        reason = f"expected a unit in the name ({log.field}_s or {log.field}_ms): a duration without one is not used"
        yield Problem(source.name, reason, "unsupported", log.unitless_line, log.field, log.unitless)
    if log.untimed:
        reason = "response has no latency: its tokens are used, its finish reason is not"
        yield Problem(source.name, reason, "unsupported", log.first, count=log.untimed)


class _Responses:
    """Where the responses of one file go."""

    def __init__(self, source: Source, years: Years) -> None:
        self.spans = Spans(source.name, "tollens.openai_usage")
        self.out = Emitter(source.name, SERVICE, "tollens.openai_usage")
        self.untimed = 0
        self.first: int | None = None
        self.unitless = 0  # responses with a duration that may be seconds or milliseconds
        self.unitless_line: int | None = None
        self.field = ""  # the first of those
        self._years = years

    def take(self, value: Any, line: int, index: int) -> str:
        """Use one response; what was expected if it is none."""
        if not isinstance(value, dict):
            return f"expected an object with `usage`, found a {type(value).__name__}"
        response = _response(value)
        start = self._time(value, response, _STARTS)
        if start is None:
            return "expected `created`, `timestamp` or `start_time`"
        if not isinstance(response.get("usage"), dict) and not _error(value, response):
            return "expected `usage` or `error`"
        self._look(value, line)
        seconds = _scaled(value, _LATENCIES)
        end = self._time(value, response, _ENDS)
        end = start + round(seconds * SECOND) if seconds is not None else end
        attributes = _attributes(value, response)
        if end is None or end < start:
            self._tokens(start, attributes)
            self.untimed, self.first = self.untimed + 1, self.first or line
            return ""
        identity = f"{response.get('id', '')} {line} {index} {start}"
        span = lone_span(
            identity, f"chat {attributes.get('gen_ai.response.model', '')}".strip(), start, end, attributes
        )
        span.kind = span.SPAN_KIND_CLIENT
        if error := _error(value, response):
            fail(span, error)
        self.spans.add({"service.name": SERVICE}, span, line)
        return ""

    def batches(self) -> Iterator[Batch]:
        """Everything gathered since the last call."""
        yield from self.spans.batches()
        yield from self.out.batches()

    def _look(self, value: Mapping[str, Any], line: int) -> None:
        """Count a response with a duration of which nothing says the unit."""
        number = (key for key in _NO_UNIT & value.keys() if isinstance(value[key], int | float))
        if found := min(number, default=""):
            self.unitless += 1
            self.unitless_line = self.unitless_line or line
            self.field = self.field or found

    def _time(self, value: Mapping[str, Any], response: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
        for owner in (value, response):
            for key in keys:
                found = owner.get(key)
                if isinstance(found, str | int | float) and (unix_nano := time_of(found, self._years)) is not None:
                    return unix_nano
        return None

    def _tokens(self, start: int, attributes: Mapping[str, Value]) -> None:
        for kind in ("input", "output"):
            count = attributes.get(f"gen_ai.usage.{kind}_tokens")
            if isinstance(count, int):
                told: dict[str, Value] = {"gen_ai.operation.name": "chat", "gen_ai.token.type": kind}
                self.out.observe("gen_ai.client.token.usage", "{token}", start, float(count), told)


def _response(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response itself, wrapped or not: `response`, `response.body` (batch output), `body`."""
    for key in ("response", "body", "completion", "result"):
        inner = value.get(key)
        if isinstance(inner, dict) and ("usage" in inner or "body" in inner or "choices" in inner):
            return _response(inner)
    return value


def _attributes(value: Mapping[str, Any], response: Mapping[str, Any]) -> dict[str, Value]:
    written = response.get("usage")
    usage: Mapping[str, Any] = written if isinstance(written, dict) else {}
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    first = _scaled(value, _FIRST)
    read, created = (usage.get(f"cache_{how}_input_tokens") for how in ("read", "creation"))
    found = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": response.get("model"),
        "gen_ai.response.id": response.get("id"),
        "gen_ai.response.finish_reasons": _finish(response),
        "openai.response.system_fingerprint": response.get("system_fingerprint"),
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens", _whole(usage.get("input_tokens"), read, created)),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "gen_ai.usage.cache_read.input_tokens": details.get("cached_tokens", read)
        if isinstance(details, dict)
        else read,
        "gen_ai.request.max_tokens": value.get("max_tokens"),
        "gen_ai.response.time_to_first_chunk": first,
        "http.response.status_code": value.get("status_code"),
    }
    return {key: text for key, text in found.items() if isinstance(text, str | int | float) and text != ""}


def _whole(prompt: Any, *apart: Any) -> Any:
    """Anthropic's `input_tokens` with what its API counts apart: tokens read from its cache and written to it."""
    return prompt + sum(part for part in apart if type(part) is int) if type(prompt) is int else prompt


def _finish(response: Mapping[str, Any]) -> str:
    choices = response.get("choices")
    listed = [one.get("finish_reason") for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    return ",".join(str(reason) for reason in listed if reason)


def _error(value: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    """The reason of a failure, "" for none."""
    error = value.get("error") or response.get("error")
    if isinstance(error, dict):
        error = error.get("message") or error.get("code") or "failed"
    return clean(str(error)[:500]) if error else ""


def _scaled(value: Mapping[str, Any], units: Mapping[str, float]) -> float | None:
    for key, unit in units.items():
        number = value.get(key)
        if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number * unit < _LONGEST_S:
            return number * unit
    return None


READER = Reader(id="openai_usage", accepts=accepts, read=read)
