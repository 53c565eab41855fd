"""Application logs: plain text and JSON lines, with and without a year."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.files import app_log, vllm_log, yearless_log
from tests.collector.files.log_reading import attributes, nano, read_log, source

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
AT = nano("2026-11-30 03:34:38")


def one(line: str | dict[str, Any]) -> Any:
    """The single record of a line."""
    (log,) = read_log(app_log, line if isinstance(line, str) else json.dumps(line)).logs
    return log


# ---- text


@pytest.mark.parametrize(
    ("line", "nanos", "level"),
    [
        ("2026-11-30 03:34:38,123 ERROR app.main: failed", 123_000_000, "ERROR"),
        ("2026-11-30T03:34:38.000000005Z INFO ready", 5, "INFO"),
        ("2026-11-30T05:34:38+02:00 [warn] two hours ahead", 0, "WARNING"),
        ("2026-11-30T05:34:38.5+0200\tERROR\tmain.go:1\tzap", 500_000_000, "ERROR"),
        ("2026/11/30 03:34:38 [error] 31#31: *1 upstream timed out", 0, "ERROR"),
        ("2026-11-30 03:34:38.1 | CRITICAL | module:run:1 - loguru", 100_000_000, "CRITICAL"),
        ("[2026-11-30 03:34:38 +0000] [7] [INFO] Booting worker", 0, "INFO"),
        ('time="2026-11-30T03:34:38Z" level=warning msg="logrus"', 0, "WARNING"),
        ("rag-api-1  | 2026-11-30T03:34:38Z WARN compose", 0, "WARNING"),
        ("1796009678 INFO epoch seconds", 0, "INFO"),
        ("1796009678.25 INFO epoch with fraction", 250_000_000, "INFO"),
        ("[1796009678123] INFO epoch milliseconds", 123_000_000, "INFO"),
        ("E1130 03:34:38.123456    1234 file.go:12] klog", 123_456_000, "ERROR"),
        ("Nov 30 03:34:38 host app[123]: syslog says FATAL", 0, "FATAL"),
        ('10.0.0.1 - - [30/Nov/2026:05:34:38 +0200] "GET / HTTP/1.1" 503 12', 0, ""),
        ("\x1b[2m2026-11-30T03:34:38Z\x1b[0m \x1b[33m WARN\x1b[0m tracing", 0, "WARNING"),
    ],
)
def test_the_usual_stamps_and_levels_are_read(line: str, nanos: int, level: str) -> None:
    """Each usual form gives its time to the nanosecond, in UTC, and its level under one spelling."""
    log = one(line)
    assert (AT + nanos, level) == (log.time_unix_nano, log.severity_text)
    assert bool(level) == bool(log.severity_number)


def test_a_stack_trace_belongs_to_its_record() -> None:
    """Lines without a stamp join the record before them, whose exception is then named."""
    text = (
        "2026-11-30 03:34:38 ERROR app: request failed\nTraceback (most recent call last):\n"
        "  File \"x.py\", line 1, in f\n    raise y\nKeyError: 'answer'\n2026-11-30 03:34:39 INFO app: next\n"
    )
    first, second = read_log(app_log, text).logs
    assert text.splitlines()[:5] == first.body.string_value.splitlines()
    assert {"exception.type": "KeyError", "exception.message": "'answer'"} == attributes(first)
    assert {} == attributes(second)


def test_a_java_trace_is_named_too() -> None:
    """Traces without Python's headline are found by the line that names the exception."""
    text = "2026-11-30 03:34:38 ERROR x\njava.sql.SQLException: no\n\tat a.b(C.java:1)\n"
    assert "java.sql.SQLException" == attributes(one(text))["exception.type"]


def test_lines_before_the_first_time_are_counted() -> None:
    """What cannot be dated is not used and is told with its line and number."""
    seen = read_log(app_log, "Starting up\n\nusing config x\n2026-11-30 03:34:38 INFO ready\n")
    (problem,) = seen.problems
    assert ("bad_time", 1, 2, 1) == (problem.kind, problem.line, problem.count, len(seen.logs))


@pytest.mark.parametrize(
    "text", ["trace_id={}", "traceId={}", 'trace-id: "{}"', "[trace.id={}]", "TraceID={}", "otelTraceID={}"]
)
def test_trace_ids_in_text_join_the_trace(text: str) -> None:
    """The usual spellings of a trace id are found wherever they stand in the line."""
    log = one(f"2026-11-30 03:34:38 INFO handled {text.format(TRACE_ID)} span_id={SPAN_ID} ok")
    assert (TRACE_ID, SPAN_ID) == (log.trace_id.hex(), log.span_id.hex())


def test_services_come_from_the_line_or_the_file() -> None:
    """Compose's container, syslog's program, or else the stem of the file."""
    text = "rag-api-1  | 2026-11-30T03:34:38Z a\nNov 30 03:34:38 host qdrant[1]: b\n2026-11-30T03:34:38Z c\n"
    seen = read_log(app_log, text, name="logs/gateway.log.gz")
    assert {"rag-api": "a", "qdrant": "b", "gateway": "c"} == {
        service: log.body.string_value[-1] for service, log in zip(seen.services, seen.logs, strict=True)
    }


# ---- JSON


@pytest.mark.parametrize(
    "record",
    [
        {"time": "2026-11-30T03:34:38Z", "level": "error", "msg": "m"},
        {"timestamp": "2026-11-30 03:34:38", "levelname": "ERROR", "message": "m"},
        {"@timestamp": "2026-11-30T03:34:38.000Z", "log.level": "error", "message": "m"},
        {"@timestamp": "2026-11-30T03:34:38.000Z", "log": {"level": "Error"}, "message": "m"},
        {"ts": 1796009678.0, "lvl": "err", "event": "m"},
        {"ts": 1796009678, "level": "ERROR", "body": "m"},
        {"time": 1796009678000, "level": 50, "msg": "m"},
        {"time": 1796009678000000, "severity": "ERROR", "message": "m"},
        {"time": "1796009678000000000", "severity": "ERROR", "message": "m"},
        {"@t": "2026-11-30T03:34:38Z", "@l": "Error", "@m": "m"},
        {"log": "m\n", "level": "error", "time": "2026-11-30T03:34:38Z"},
        {"time": "2026-11-30T05:34:38+02:00", "status": "error", "message": "m"},
    ],
)
def test_the_usual_keys_are_read_and_used_up(record: dict[str, Any]) -> None:
    """Time, level and message are found under the usual keys; nothing of them is left as attribute."""
    log = one(record)
    assert (AT, "ERROR", "m", {}) == (
        log.time_unix_nano,
        log.severity_text,
        log.body.string_value,
        attributes(log),
    )


@pytest.mark.parametrize("ts", [1796009678.25, 1796009678250.0, "1796009678.25", 1796009678250000.0])
def test_fractions_of_a_numeric_time_are_kept(ts: object) -> None:
    """Seconds, milliseconds and microseconds with a fraction lose nothing a float can hold."""
    assert AT + 250_000_000 == one({"ts": ts, "msg": "m"}).time_unix_nano


@pytest.mark.parametrize(
    "ids",
    [
        {"trace_id": TRACE_ID, "span_id": SPAN_ID},
        {"traceId": TRACE_ID.upper(), "spanId": SPAN_ID.upper()},
        {"otelTraceID": TRACE_ID, "otelSpanID": SPAN_ID},
        {"trace": {"id": TRACE_ID}, "span": {"id": SPAN_ID}},
        {"trace.id": TRACE_ID, "span.id": SPAN_ID},
        {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"},
        {"logging.googleapis.com/trace": f"projects/p/traces/{TRACE_ID}", "span_id": SPAN_ID},
    ],
)
def test_trace_ids_in_json_join_the_trace(ids: dict[str, Any]) -> None:
    """All usual spellings, nested or flat, give the same ids."""
    log = one({"time": "2026-11-30T03:34:38Z", "msg": "m", **ids})
    assert (TRACE_ID, SPAN_ID) == (log.trace_id.hex(), log.span_id.hex())


def test_datadog_ids_are_decimal() -> None:
    """Datadog writes 64-bit ids as decimal text: they become the low half of the trace id."""
    log = one({"time": "2026-11-30T03:34:38Z", "msg": "m", "dd.trace_id": "255", "dd": {"span_id": "16"}})
    assert (f"{255:032x}", f"{16:016x}") == (log.trace_id.hex(), log.span_id.hex())


def test_other_keys_become_typed_attributes() -> None:
    """What is left is kept, nested keys with dots, each with its type."""
    record = {"time": "2026-11-30T03:34:38Z", "msg": "m", "n": 3, "x": 0.5, "ok": True, "none": None}
    log = one({**record, "http": {"route": "/a", "codes": [1, 2]}, "service": "rag"})
    expected = {"n": 3, "x": 0.5, "ok": True, "http.route": "/a", "http.codes": "[1, 2]", "service": "rag"}
    assert expected == attributes(log)


def test_an_exception_key_names_its_type() -> None:
    """A traceback inside the object gives type, message and the trace itself."""
    stack = 'Traceback (most recent call last):\n  File "x"\nhttpx.PoolTimeout: full'
    log = one({"time": "2026-11-30T03:34:38Z", "msg": "m", "exc_info": stack})
    assert ("httpx.PoolTimeout", "full", stack) == tuple(
        attributes(log)[f"exception.{name}"] for name in ("type", "message", "stacktrace")
    )
    assert "tollens.pool_timeout" == log.event_name


def test_a_broken_object_is_told_and_the_rest_is_used() -> None:
    """A cut line in a JSON log is a problem with its line; a traceback between objects is a continuation."""
    good = json.dumps({"time": "2026-11-30T03:34:38Z", "msg": "m"})
    seen = read_log(app_log, f"{good}\n{good[:20]}\nValueError: printed\n{good}\n")
    (problem,) = seen.problems
    assert ("malformed", 2) == (problem.kind, problem.line)
    assert ["m\nValueError: printed", "m"] == [log.body.string_value for log in seen.logs]


@pytest.mark.parametrize(
    ("time", "reason"),
    [(0, "zero"), ("2226-11-30T03:34:38Z", "after the year 2099"), (17960096, "looks like")],
)
def test_unbelievable_times_are_dropped_and_counted(time: object, reason: str) -> None:
    """A wrong time is told with its reason, not repaired, and the record is left out."""
    good = {"time": "2026-11-30T03:34:38Z", "msg": "good"}
    text = "\n".join(map(json.dumps, [good, {"time": time, "msg": "bad"}, good]))
    seen = read_log(app_log, text)
    assert ["good", "good"] == [log.body.string_value for log in seen.logs]
    (problem,) = seen.problems
    assert ("bad_time", 2) == (problem.kind, problem.line)
    assert reason in problem.reason or "before the year 2000" in problem.reason


# ---- events


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ("This model's maximum context length is 4096 tokens. However, …", "context_overflow"),
        ("prompt is too long: 215000 tokens > 200000 maximum", "context_overflow"),
        ("Error code: 400 - {'error': {'code': 'context_length_exceeded'}}", "context_overflow"),
        ("httpcore.PoolTimeout", "pool_timeout"),
        ("sqlalchemy.exc.TimeoutError: QueuePool limit of size 5 overflow 10 reached", "store_pool_timeout"),
        ("Retrying request to /chat/completions in 0.823 seconds", "retry"),
        ("upstream answered 503, retrying (attempt 2)", "retry"),
        ("got 429 Too Many Requests, will retry", "retry"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB", "out_of_memory"),
        ("answered in 429 ms", ""),
        ("retry queue is empty", ""),
        ("context built from 5 documents", ""),
        ("pool of 10 workers started", ""),
    ],
)
def test_happenings_are_marked_on_the_record_itself(message: str, event: str) -> None:
    """A happening is an event name on its own record, in text and in JSON alike; look-alikes are not."""
    expected = f"tollens.{event}" if event else ""
    text = one(f"2026-11-30 03:34:38 ERROR app: {message}")
    assert expected == text.event_name
    assert expected == one({"time": "2026-11-30T03:34:38Z", "msg": message}).event_name


# ---- whose file, which year


@pytest.mark.parametrize(
    "text",
    [
        '{"resourceLogs":[]}\n',
        '{"resourceSpans":[{"time":"2026-11-30T03:34:38Z","msg":"x"}]}\n',
        '{\n "baseline": [1796009929.5, 1796010004.6],\n "at": "2026-11-30T03:34:38Z",\n "z": 1\n}\n',
        '{"baseline": [1796009929.5], "id": "x"}\n',
        "timestamp,index,power\n2026/11/30 03:34:38.123, 0, 75.3\n2026/11/30 03:34:39.123, 0, 75.3\n",
        "0,2026-11-30 03:34:38,1\n0,2026-11-30 03:34:39,1\n",
        'metadata:\n  creationTimestamp: "2026-11-30T03:34:38Z"\n',
        "# HELP a b\n# TYPE a gauge\na 1 1796009678000\n",
        "just some words\n",
        "2026-11-30 03:34:38 \0\0\0",
        "",
    ],
)
def test_what_is_no_log_is_not_accepted(text: str) -> None:
    """OTLP, documents, tables, metric pages, prose and binary are left to others."""
    assert (0, 0) == (app_log.accepts(source(text)), yearless_log.accepts(source(text)))


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30 03:34:38 INFO a\n",
        json.dumps({"time": "2026-11-30T03:34:38Z", "msg": "m"}),
        "2026-11-30 03:34:38 ERROR a\n" + "  at frame\n" * 20,
    ],
)
def test_a_log_is_accepted_but_never_against_a_better_reader(text: str) -> None:
    """Logs get a middling score, so that a reader that knows the format wins."""
    assert 0.2 < app_log.accepts(source(text)) <= 0.6
    vllm = text + "\n2026-11-30T03:34:38Z INFO 11-30 03:34:38 [loggers.py:1] Engine 000: x\n"
    assert app_log.accepts(source(vllm)) < vllm_log.accepts(source(vllm))


def test_logs_without_a_year_go_to_the_reader_that_waits_for_one() -> None:
    """Klog and syslog are read last, with the year of the other files; logs with a year are not."""
    klog = source("I1230 03:34:38.123456    1 file.go:12] a\n" * 3)
    assert app_log.accepts(klog) < yearless_log.accepts(klog) <= 0.6
    assert 0 == yearless_log.accepts(source("2026-11-30 03:34:38 INFO a\n"))
    assert (True, False) == (yearless_log.READER.needs_year, app_log.READER.needs_year)
    seen = read_log(yearless_log.app_log, "I1230 03:34:38 1 f.go:1] a", near="2021-01-02 00:00:00")
    assert nano("2020-12-30 03:34:38") == seen.logs[0].time_unix_nano


# ---- bounds


def test_long_bodies_are_cut_and_long_logs_come_in_batches() -> None:
    """Texts, attributes and requests are bounded; every record is there."""
    line = json.dumps({"time": "2026-11-30T03:34:38Z", "msg": "x" * 20_000, "y": "z" * 20_000})
    seen = read_log(app_log, f"{line}\n" * 300)
    assert (300, 8_192) == (len(seen.logs), len(seen.logs[0].body.string_value))
    assert len(attributes(seen.logs[0])["y"]) <= 4_096
    assert seen.batches > 2


@given(st.lists(st.text() | st.sampled_from(["2026-11-30 03:34:38 INFO x", "{", '{"a":1}', "[1796009678] x"])))
def test_no_mixture_of_lines_breaks_the_reader(lines: list[str]) -> None:
    """Whatever is pasted together, no stamped line is lost and nothing raises."""
    text = "\n".join(lines)
    stamped = [line for line in text.split("\n") if line == "2026-11-30 03:34:38 INFO x"]
    assert len(stamped) <= len(read_log(app_log, text).logs)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["time", "ts", "msg", "level", "trace_id", "dd.trace_id", "span_id", "exception", "logger"])


@given(st.lists(st.dictionaries(keys | st.text(max_size=5), json_values, max_size=5), max_size=5))
def test_no_object_breaks_the_reader(records: list[dict[str, Any]]) -> None:
    """Any value under any key: what has no believable time is told, the good records around it stay."""
    good = json.dumps({"time": "2026-11-30T03:34:38Z", "msg": "good"})
    seen = read_log(app_log, "\n".join([good, *map(json.dumps, records), good]))
    assert 2 <= [log.body.string_value for log in seen.logs].count("good")
    assert len(seen.logs) + sum(p.count for p in seen.problems) == 2 + len(records)
