"""Ollama's server log (`ollama serve`, journald, Docker): requests of its HTTP log as spans, loading and unloading of
models, layers on the GPU and other settings as facts, and what the llama.cpp runner inside it says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from collector.attributes import Value
from collector.files import _llamacpp
from collector.files._app_record import Record, level_of
from collector.files._contract import Options, Reader, Source
from collector.files._durations import WRITTEN, duration_ns
from collector.files._engine_facts import plain
from collector.files._log_file import Log, Plain, Sink, read_records
from collector.files._log_lines import LogLines, text_of
from collector.files._paste import Head, Peeled, together, whole
from collector.files._share import score
from collector.files._spans import fail, lone_span
from collector.files._stamps import ISO, Years, iso_unix_nano
from collector.files._times import SECOND
from correlator.model.records import Batch, Problem

SURE = 0.94
_LOGFMT = re.compile(rf"time=\"?{ISO.pattern}\"? level=(\w+) ")
_GIN = re.compile(
    r"\[GIN\] (\d{4}/\d\d/\d\d) - (\d\d:\d\d:\d\d) \|\s*(\d{3})\s*\|\s*(" + WRITTEN + r")\s*\|\s*(\S*)\s*\|\s*"
    r"([A-Z]+)\s+\"([^\"]*)\""
)
_GIN_STAMP = re.compile(r"\[GIN\] (\d{4}/\d\d/\d\d) - (\d\d:\d\d:\d\d) \|")
_OLLAMA = re.compile(r"source=[\w-]+\.go:\d+ msg=|OLLAMA_[A-Z]")
_API = re.compile(r"/(?:api/(?:chat|generate|embed|tags|show|ps|pull|push|version|create|delete|copy)|v1/)|/$")
_OPERATIONS = (
    ("/api/chat", "chat"),
    ("/v1/chat/completions", "chat"),
    ("/api/generate", "text_completion"),
    ("/v1/completions", "text_completion"),
    ("/api/embed", "embeddings"),
    ("/v1/embeddings", "embeddings"),
)
_EVENTS = (
    ("startingllamaserver", "tollens.engine_start"),
    ("startingrunner", "tollens.engine_start"),
    ("llamarunnerstartedin", "tollens.engine_ready"),
    ("runnerreleased", "tollens.model_unload"),
    ("runnerexpired", "tollens.model_unload"),
    ("llamarunnerprocessnolongerrunning", "tollens.engine_dead"),
    ("llamarunnerprocesshasterminated", "tollens.engine_dead"),
    ("gpuvramusagedidn'trecover", "tollens.memory_not_freed"),
)
_SETTINGS = (
    ("version", re.compile(r"\(version ([\w.+-]+)\)")),
    ("gpu_layers", re.compile(r"layers\.offload=(\d+)")),
    ("model_layers", re.compile(r"layers\.model=(\d+)")),
    ("model", re.compile(r"--model (\S+?)(?:\"|\s|$)")),
    ("max_model_len", re.compile(r"--ctx-size (\d+)")),
    ("max_num_batched_tokens", re.compile(r"--batch-size (\d+)")),
    ("max_num_seqs", re.compile(r"--parallel (\d+)")),
    ("threads", re.compile(r"--threads (\d+)")),
    ("gpu_library", re.compile(r"msg=\"inference compute\".*? library=(\w+)")),
)


def accepts(source: Source) -> float:
    """By the share of its HTTP log and its logfmt lines with Go files; what its runner says is neither its own nor
    another's."""
    return score(source, SURE, _is_own)


def _is_own(text: str) -> bool:
    if request := _GIN.search(text, 0, 1_000):
        return _API.match(request[7]) is not None
    return bool(_LOGFMT.search(text, 0, 200) and _OLLAMA.search(text))


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of logs and spans; `now` serves only to date prefixes without a year."""
    zone = _Zone(_first_zone(source))
    yield from read_records(source, options, now, Log("ollama_log", "ollama", zone.begins), Plain(_meaning))
    if zone.unknown:
        reason = "times of the HTTP log have no zone and no other line tells it: they are read as UTC"
        yield Problem(source.name, reason, "bad_time", count=zone.unknown)


def _first_zone(source: Source) -> str:
    """The zone of the first line that names one, for the requests that stand before it; "" if none does."""
    with source.open() as stream:
        texts = (text_of(raw) for _, raw in LogLines(stream))
        matches = (_LOGFMT.search(text) for text in texts if "level=" in text)
        return next((match[3] for match in matches if match and match[3]), "")


@dataclass(slots=True)
class _Zone:
    """The HTTP log is in local time without a zone: that of the logfmt lines around it is taken."""

    offset: str
    unknown: int = 0  # lines whose time may be of any zone

    def begins(self, line: Peeled, years: Years) -> Head | None:
        if match := _LOGFMT.search(line.text, 0, 200):
            self.offset = match[3] or self.offset
            return Head(iso_unix_nano(match), level_of(match[4]), line.text[match.end() :])
        if match := _GIN_STAMP.search(line.text, 0, 400):
            moment = ISO.match(f"{match[1].replace('/', '-')}T{match[2]}{self.offset}")
            self.unknown += not self.offset and line.unix_nano is None
            return Head(iso_unix_nano(moment) if moment else None, "INFO", line.text[match.start() :])
        return Head(None, "", line.text) if _llamacpp.BEGINS.match(line.text) else None


def _meaning(sink: Sink, record: Record) -> None:
    texts = together(record.texts)
    request = next((match for text in texts if (match := _GIN.match(text))), None)
    if record.unix_nano is None:
        sink.missed(record)
    elif request:
        _request(sink, record, record.unix_nano, request)
    else:
        facts: dict[str, Value] = {}
        for text in texts:
            facts = _facts(text) | facts
        sink.state(record, "ollama", facts)
        said = whole(record)
        event = next((event for phrase, event in _EVENTS if phrase in said), "") or _llamacpp.event_of(said)
        sink.tell(record, event)


def _facts(text: str) -> dict[str, Value]:
    found = {name: plain(match[1]) for name, pattern in _SETTINGS if (match := pattern.search(text))}
    if "gpu_layers" in found and "model_layers" in found:
        found["gpu_layers"] = f"{found['gpu_layers']}/{found['model_layers']}"
    found.pop("model_layers", None)
    return _llamacpp.facts(text) | found


def _request(sink: Sink, record: Record, end: int, request: re.Match[str]) -> None:
    """Gin writes the line when the answer is complete, to the second."""
    lasted, status, path = duration_ns(request[4]) or 0, int(request[3]), request[7].partition("?")[0]
    attributes: dict[str, Value] = {
        "http.request.method": request[6],
        "url.path": path,
        "http.response.status_code": status,
    }
    if operation := next((name for prefix, name in _OPERATIONS if path.startswith(prefix)), ""):
        attributes["gen_ai.operation.name"] = operation
        attributes["gen_ai.latency.e2e"] = lasted / SECOND
    span = lone_span(f"ollama {record.line} {request[0]}", f"{request[6]} {path}", end - lasted, end, attributes)
    if status >= 500:
        fail(span, f"HTTP {status}")
    sink.spans.add({"service.name": "ollama"}, span, record.line)


READER = Reader(id="ollama_log", accepts=accepts, read=read)
