"""What the entries of one vLLM log mean: records, figures, counted requests, named events and facts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from collector.attributes import Value
from collector.files._emit import CUMULATIVE, Emitter
from collector.files._events import ENGINE, recognise, squeezed
from collector.files._exceptions import HEADER, exception_of
from collector.files._vllm_facts import facts_of, states_facts
from collector.files._vllm_lines import ACCESS, Access, Entry
from collector.files._vllm_memory import profiled
from collector.files._vllm_stats import Stats, stats_of

GENERATION = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/audio/",
    "/generate",
    "/inference/v1/generate",
    "/invocations",
    "/pooling",
    "/score",
    "/rerank",
)
_READY = ("applicationstartupcomplete", "startingvllmserveron", "startingvllmapiserver")
_SHUTDOWN = ("shuttingdown", "[shutdown]apiserver:shutdowntriggered", "applicationshutdowncomplete")
_CAPTURE = ("capturingthemodelforcudagraphs", "capturingcudagraph", "graphcapturingfinished")
_DULL = ("route:", "availableroutesare", "addedrequest")
_REQUEST, _PARAMETERS = "receivedrequest", "params:samplingparams("
_SCHEMA = ("structured_outputs=structuredoutputsparams(", "guided_decoding=guideddecodingparams(")
_ADAPTER = re.compile(r"Loaded ?new ?LoRA ?adapter: ?name '([^']+)'")
_ORDERED_STOP = frozenset({"tollens.engine_dead", "tollens.error"})
_CLIENT_ERROR, _SERVER_ERROR = 400, 500
_TELLING = frozenset({"INFO", "WARNING"})
_FAILING = frozenset({"WARNING", "ERROR", "CRITICAL", ""})


@dataclass(slots=True)
class Meaning:
    """What the entries of one log mean, in their order."""

    out: Emitter
    phase: str = "unknown"  # starting, running, stopped
    first: int | None = None  # time of the first stamped entry
    started: int | None = None  # time of the last engine start
    previous: int | None = None  # time of the last stats line: where the stretch being counted begins
    preemptions_since: dict[str, int] = field(default_factory=dict)  # by engine
    block_size: int | None = None
    saw_access: bool = False
    requests: Counter[int] = field(default_factory=Counter)  # by status, in this stretch
    received: Counter[bool] = field(default_factory=Counter)  # by whether a schema was asked for, in this stretch
    last: int = 0
    untimed: int = 0
    untimed_line: int | None = None

    def access(self, item: Access) -> None:
        """Count a request; one that failed is also a record of its own."""
        if item.unix_nano is None:
            self._no_time(item.line)
            return
        self.last = max(self.last, item.unix_nano)
        self.request(item.method, item.path, item.status)
        if not _succeeded(item.status):
            level = "ERROR" if item.status >= _SERVER_ERROR else "WARNING"
            attributes: dict[str, Value] = {
                "http.request.method": item.method,
                "url.path": item.path,
                "http.response.status_code": item.status,
            }
            self.out.log(item.unix_nano, level, item.text.strip(), attributes=attributes)

    def request(self, method: str, path: str, status: int) -> None:
        """Count a request in the stretch at hand."""
        self.saw_access = True
        if method == "POST" and path.startswith(GENERATION):
            self.requests[status] += 1

    def entry(self, entry: Entry) -> None:
        """Say what one entry means."""
        text = squeezed(entry.texts[0] if len(entry.texts) == 1 else "\n".join(entry.texts))
        if not text or text.startswith(_DULL):
            return
        if text.startswith(_REQUEST):
            self._received(text)
            return
        if not entry.head and self._wrapped_access(entry):
            return
        if entry.unix_nano is None:
            self._no_time(entry.line)
            return
        now = entry.unix_nano
        self.first = now if self.first is None else self.first
        self.last = max(self.last, now)
        stats = stats_of(text)
        if stats is not None:
            self._stats(now, stats)
        self._record(now, entry, text)

    def finish(self) -> None:
        """Requests after the last stats line still count, up to the last time the log knows."""
        if self.requests or self.received:
            self._stretch(self.last, final=True)

    def _record(self, now: int, entry: Entry, text: str) -> None:
        facts = self._facts(entry.texts) if entry.level in _TELLING and states_facts(text) else {}
        exception = exception_of(entry.texts) if entry.level in _FAILING else None
        event = self._lifecycle(now, text, facts) or self._event(entry, text, exception)
        body = "\n".join(entry.texts).strip("\n")
        attributes: dict[str, Value] = {}
        if adapter := _ADAPTER.match(entry.texts[0]):
            event, attributes = "tollens.lora_activated", {"adapter": adapter[1]}
        if exception:
            attributes = {"exception.type": exception[0], "exception.message": exception[1]}
        if event == "tollens.memory_released":
            attributes = {**attributes, **profiled(body)}
        if "total_num_cumulative_preemption=" in text:
            self._preempted(now, text)
        if facts:
            self.out.log(now, entry.level, body, "tollens.facts", {"engine.name": "vllm", **facts})
        if event or (not facts and (entry.head or entry.level)):
            self.out.log(now, entry.level, body, event or "", attributes)

    def _lifecycle(self, now: int, text: str, facts: dict[str, Value]) -> str | None:
        banner = "engine.version" in facts and not text.startswith("initializing")
        if banner or (text.startswith("initializinga") and "llmengine" in text[:40]):
            if self.phase == "starting" and not banner:
                return None
            self.phase, self.started, self.block_size = "starting", now, None
            return "tollens.engine_start"
        if text.startswith(_READY) and self.phase != "running":
            self.phase = "running"
            return "tollens.engine_ready"
        if text.startswith(_SHUTDOWN) and self.phase != "stopped":
            self.phase = "stopped"
            return "tollens.engine_shutdown"
        return "tollens.cuda_graph_capture" if text.startswith(_CAPTURE) else None

    def _event(self, entry: Entry, text: str, exception: tuple[str, str] | None) -> str | None:
        if entry.level not in _FAILING:
            return None
        raised = squeezed(": ".join(exception)) if exception else ""
        event = recognise(raised + text, ENGINE)
        if event is None and (entry.failed or exception or any(HEADER in line for line in entry.texts)):
            event = "tollens.error"
        return None if self.phase == "stopped" and event in _ORDERED_STOP else event

    def _facts(self, texts: list[str]) -> dict[str, Value]:
        facts = facts_of(texts)
        size = facts.get("engine.block_size", self.block_size)
        self.block_size = size if isinstance(size, int) else None
        blocks = facts.get("engine.num_gpu_blocks")
        if isinstance(blocks, int) and self.block_size and "engine.kv_cache_tokens" not in facts:
            facts["engine.kv_cache_tokens"] = blocks * self.block_size
        return facts

    def _stats(self, now: int, stats: Stats) -> None:
        self.phase = "running" if self.phase in ("unknown", "starting") else self.phase
        attributes: dict[str, Value] = {"engine": stats.engine} if stats.engine is not None else {}
        for name, unit, value in stats.gauges:
            self.out.gauge(name, unit, now, value, attributes)
        if stats.preemptions is not None:
            since = self.preemptions_since.get(stats.engine or "", self.first or now)
            name = "vllm.log.preemptions_delta"
            self.out.sum(name, "{preemption}", since, now, stats.preemptions, attributes)
        if any(name == "vllm.log.running_requests" for name, _, _ in stats.gauges):
            self.preemptions_since[stats.engine or ""] = now
            self._stretch(now)

    def _stretch(self, now: int, final: bool = False) -> None:
        """Close the stretch of counted requests at `now`."""
        start = self.previous if self.previous is not None else self.first
        if start is None or (now <= start and not final):
            return
        done = sum(count for status, count in self.requests.items() if _succeeded(status))
        end = max(now, start)
        if self.saw_access:
            self.out.sum("vllm.log.requests_completed", "{request}", start, end, done, {})
        for status, count in sorted(self.requests.items()):
            if status >= _CLIENT_ERROR:
                failed: dict[str, Value] = {"http.response.status_code": status}
                self.out.sum("vllm.log.requests_failed", "{request}", start, end, count, failed)
        if self.received:
            self.out.sum("vllm.log.received_requests", "{request}", start, end, self.received.total(), {})
            self.out.sum("vllm.log.structured_requests", "{request}", start, end, self.received[True], {})
        self.requests.clear()
        self.received.clear()
        self.previous = now

    def _received(self, text: str) -> None:
        """Count a logged request whose parameters can be seen: behind the prompt, which may be cut off."""
        parameters = text.rpartition(_PARAMETERS)[2] if _PARAMETERS in text else ""
        if parameters:
            self.received[any(schema in parameters for schema in _SCHEMA)] += 1

    def _preempted(self, now: int, text: str) -> None:
        digits = text.partition("total_num_cumulative_preemption=")[2]
        count = digits[: len(digits) - len(digits.lstrip("0123456789"))]
        if count:
            since = self.started or self.first or now
            self.out.sum("vllm.log.preemptions", "{preemption}", since, now, int(count), {}, CUMULATIVE)

    def _wrapped_access(self, entry: Entry) -> bool:
        whole = "".join(line.strip() for line in entry.texts)
        match = ACCESS.search(whole) if "HTTP/1." in whole else None
        if match:
            self.access(Access(entry.line, entry.unix_nano, match[1], match[2], int(match[3]), whole))
        return match is not None

    def _no_time(self, line: int) -> None:
        self.untimed += 1
        self.untimed_line = self.untimed_line or line


def _succeeded(status: int) -> bool:
    return 200 <= status < 300
