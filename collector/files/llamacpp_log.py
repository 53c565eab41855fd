"""The log of llama.cpp's server and tools: the timings of each request as a span, busy slots as the metric that the
server exposes, settings as facts. Without any time in it (flag `--log-timestamps`) only facts can be used."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from collector.attributes import Value
from collector.files import _llamacpp as lines
from collector.files._app_record import Record
from collector.files._contract import Options, Reader, Source
from collector.files._log_file import Log, Sink, read_records
from collector.files._paste import Head, Peeled, whole
from collector.files._share import score
from collector.files._spans import lone_span
from collector.files._stamps import Years
from collector.files._times import SECOND
from collector.files._uptime import start_of
from correlator.model.records import Batch, Problem

SURE = 0.9
OPEN_REQUESTS = 1_000  # of which the beginning was seen and the end not yet
_STAMP = re.compile(r"(\d{1,6})\.(\d\d)\.(\d{3})\.(\d{3}) ([DIWE])? ?")
_EPOCH = re.compile(r"(?:\"timestamp\":|timestamp=)(\d{10})\b")
_LEVELS = {"D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", None: ""}
_LEVEL = re.compile(r"(INFO|WARN|ERR(?:OR)?|VERB) \[|\"level\":\"(\w+)\"")
_TASK = re.compile(r"(?:\| task|id_task\D{1,3}|task_id\D{1,3}) ?(\d{1,12})")
_PROMPT_TOKENS = re.compile(r"(?:n_prompt_tokens|task\.n_tokens) = (\d{1,9})")
_OWN = re.compile(
    r"^(?:slot +\w+: id +\d|srv +\w+: |llama_perf_|llama_print_timings:|llm_load_print_meta:|print_info: |"
    r"llama_model_loader: |llama_context: |llama_new_context|common_perf_print|ggml_cuda_init)|\[ *print_timings\]"
    r"|\"function\":\"print_timings\"|prompt eval time =|\btid\"?[=:]\"\d+\",? \"?timestamp\"?[=:]\d{10}\b"
)


def accepts(source: Source) -> float:
    """By the share of what only llama.cpp says; Ollama, which has it inside its own log, is surer of its lines."""
    return score(source, SURE, _is_own)


def _is_own(text: str) -> bool:
    stamp = _STAMP.match(text)
    return _OWN.search(text[stamp.end() :] if stamp else text) is not None


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of spans, logs and metrics; `now` serves only to date prefixes without a year."""
    start, doubt = start_of(source, options, _uptime)
    if doubt is not None:
        yield doubt

    def begins(line: Peeled, years: Years) -> Head | None:
        return _begins(line, start)

    yield from read_records(source, options, now, Log("llamacpp_log", "llama.cpp", begins), _Meaning())


def _uptime(text: str) -> int | None:
    match = _STAMP.match(text)
    if match is None:
        return None
    return (int(match[1]) * 60 + int(match[2])) * SECOND + (int(match[3]) * 1_000 + int(match[4])) * 1_000


def _begins(line: Peeled, start: int | None) -> Head | None:
    if match := _STAMP.match(line.text):
        since = _uptime(line.text) or 0
        return Head(None if start is None else start + since, _LEVELS[match[5]], line.text[match.end() :])
    level = _LEVEL.search(line.text, 0, 200)
    if epoch := _EPOCH.search(line.text):
        return Head(int(epoch[1]) * SECOND, _level(level), line.text)
    if level or lines.BEGINS.match(line.text) or line.unix_nano is not None:
        return Head(None, _level(level), line.text)
    return None


def _level(match: re.Match[str] | None) -> str:
    from_text = (match[1] or match[2] or "")[:4].upper() if match else ""
    return {"INFO": "INFO", "WARN": "WARNING", "ERR": "ERROR", "ERRO": "ERROR", "VERB": "DEBUG"}.get(from_text, "")


@dataclass(slots=True)
class _Meaning:
    """The server tells of a request in several lines; tools tell of one run without a task."""

    running: set[str] = field(default_factory=set)  # tasks
    asked: dict[str, int] = field(default_factory=dict)  # prompt tokens by task
    task: str = ""  # whose timings are being told
    told: dict[str, tuple[float, int]] = field(default_factory=dict)

    def record(self, sink: Sink, record: Record) -> None:
        text, found = " ".join(record.texts), lines.facts("\n".join(record.texts))
        sink.state(record, "llama.cpp", found)
        if record.unix_nano is None:
            if not found:
                sink.missed(record)
            return
        task = match[1] if (match := _TASK.search(text)) else ""
        self.task = task or self.task
        self._slots(sink, record.unix_nano, task, text)
        if (match := _PROMPT_TOKENS.search(text)) and len(self.asked) < OPEN_REQUESTS:
            self.asked[task] = int(match[1])
        timed = False
        for name, seconds, tokens in lines.timings(text):
            self.told[name], timed = (seconds, tokens), True
        if "total" in self.told:
            self._request(sink, record, record.unix_nano)
        event = lines.event_of(whole(record))
        if event or not (timed or found):
            sink.tell(record, event)

    def finish(self, sink: Sink) -> None:
        """A request whose total is missing is not one."""

    def _slots(self, sink: Sink, now: int, task: str, text: str) -> None:
        before = len(self.running)
        if "launch_slot" in text and before < OPEN_REQUESTS:
            self.running.add(task)
        elif "stop processing" in text:
            self.running.discard(task)
        if len(self.running) != before:
            sink.out.gauge("llamacpp:requests_processing", "{request}", now, len(self.running), {})

    def _request(self, sink: Sink, record: Record, end: int) -> None:
        """The evaluated tokens are those that no cache had."""
        told, self.told = self.told, {}
        total = told["total"][0]
        attributes: dict[str, Value] = {"gen_ai.operation.name": "text_completion", "gen_ai.latency.e2e": total}
        if "prompt" in told:
            seconds, computed = told["prompt"]
            asked = max(self.asked.pop(self.task, computed), computed)
            attributes["gen_ai.latency.time_in_model_prefill"] = seconds
            attributes["gen_ai.usage.input_tokens"] = asked
            attributes["gen_ai.usage.cache_read.input_tokens"] = asked - computed
        if "decode" in told:
            attributes["gen_ai.latency.time_in_model_decode"] = told["decode"][0]
            attributes["gen_ai.usage.output_tokens"] = told["decode"][1]
        identity = f"llama.cpp {end} {record.line} {self.task} {total}"
        span = lone_span(identity, "completion", end - round(total * SECOND), end, attributes)
        sink.spans.add({"service.name": "llama.cpp"}, span, record.line)


READER = Reader(id="llamacpp_log", accepts=accepts, read=read, needs_year=True)
