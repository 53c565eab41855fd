"""What cannot be loaded is counted and set aside; everything beside it is loaded."""

import pytest

from correlator.model.records import Batch, Problem, Signal
from tests.correlator.store import oracle
from tests.correlator.store.build import gauge, log_batch, metric_batch, span_batch, tree_batch
from tests.correlator.store.support import difference, emptied, plain, stored

UNDECODABLE = [b"junk", b"\n", b'{"resourceLogs": []}', log_batch().payload[:-1], b"\x0a\xff"]
WRONG_WIRE_TYPE = b"\x08\x01"  # protobuf skips it as unknown, ClickHouse does not


@pytest.fixture
def empty(store):
    return emptied(store)


def bodies(store):
    return sorted(store.query("SELECT Body FROM otel_logs")["Body"])


def test_undecodable_requests_are_counted(empty):
    """Requests that are no protobuf are one problem with their number; their neighbours are loaded."""
    bad = [Batch(Signal.LOGS, payload) for payload in UNDECODABLE]
    report = empty.load([log_batch("before"), *bad, log_batch("after")])
    reason = "not an OTLP logs request: the bytes do not decode"
    assert (Problem(source="logs", reason=reason, kind="rejected", count=5),) == report.problems
    assert ["after", "before"] == bodies(empty)
    assert 2 == report.rows["otel_logs"]


def test_a_request_only_clickhouse_refuses_is_found_by_halving(empty):
    """One refused request among many costs none of the others."""
    batches = [log_batch(str(number)) for number in range(20)]
    batches.insert(13, Batch(Signal.LOGS, WRONG_WIRE_TYPE))
    report = empty.load(batches)
    assert [1] == [problem.count for problem in report.problems]
    assert sorted(map(str, range(20))) == bodies(empty)


def test_nothing_to_load(empty):
    """No batches and empty requests are no problem and no rows."""
    assert 0 == sum(empty.load([]).rows.values())
    report = empty.load([Batch(signal, b"") for signal in Signal])
    assert (0, ()) == (sum(report.rows.values()), report.problems)


def test_loading_adds(empty):
    """The report counts what this load added, not what was there."""
    empty.load([span_batch("one")])
    report = empty.load([span_batch("two"), span_batch("three")])
    assert 2 == report.rows["otel_traces"]
    assert ["one", "three", "two"] == sorted(empty.query("SELECT SpanName FROM otel_traces")["SpanName"])


def test_signals_may_come_mixed(empty):
    """One load takes all signals in any order."""
    report = empty.load([span_batch(), log_batch(), metric_batch(gauge()), span_batch()])
    counts = {table: rows for table, rows in report.rows.items() if rows}
    assert {"otel_traces": 2, "otel_logs": 1, "otel_metrics_gauge": 1} == counts


def test_more_than_one_statement(empty):
    """More requests than one statement takes arrive once each."""
    batches = [log_batch(str(number)) for number in range(12_000)]
    assert 12_000 == empty.load(batches).rows["otel_logs"]
    assert sorted(map(str, range(12_000))) == bodies(empty)


def test_nested_values_among_flat_ones(empty):
    """Only requests with nested values are rewritten, and each in its place."""
    batches = [tree_batch(str(n)) if n % 3 == 1 else log_batch(str(n)) for n in range(30)]
    assert () == empty.load(batches).problems
    expected = [f'{{"leaf":"{n}"}}' if n % 3 == 1 else str(n) for n in range(30)]
    assert sorted(expected) == bodies(empty)


def test_too_deep_is_a_problem(empty):
    """Nesting beyond what protobuf decoders follow is rejected, not cut."""
    request = deep_request(200)
    report = empty.load([Batch(Signal.LOGS, request), log_batch("beside")])
    assert ["beside"] == bodies(empty)
    assert [("rejected", 1)] == [(problem.kind, problem.count) for problem in report.problems]


def deep_request(levels):
    """The wire bytes of a log record whose body is a list in a list in a list …"""
    value = b""
    for _ in range(levels):
        value = framed(0x2A, framed(0x0A, value))
    return framed(0x0A, framed(0x12, framed(0x12, framed(0x2A, value))))


def framed(tag, content):
    size = bytearray()
    number = len(content)
    while number > 0x7F:
        size.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([tag, *size, number]) + content


@pytest.mark.parametrize("signal", Signal)
def test_text_that_is_not_utf_8(empty, signal):
    """Wrong bytes in any text become U+FFFD and cost nothing else."""
    marked = MARKED[signal]
    empty.load([Batch(signal, marked.replace(b"zzzz", b"z\xffzz"))])
    expected = [damaged(row) for row in oracle.rows(signal, marked)]
    assert ([], []) == difference(expected, stored(empty, signal))


def damaged(value):
    """The same with the mark as it must read after its middle was spoilt."""
    match value:
        case str():
            return value.replace("zzzz", "z\ufffdzz")
        case oracle.Json():
            return oracle.Json(damaged(value.value))
        case dict():
            return {damaged(key): damaged(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(map(damaged, value))
        case _:
            return value


def marked_requests():
    span, log, metric = (oracle.REQUESTS[signal]() for signal in (Signal.TRACES, Signal.LOGS, Signal.METRICS))
    for scoped in (
        span.resource_spans.add(),
        log.resource_logs.add(schema_url="zzzz"),
        metric.resource_metrics.add(schema_url="zzzz"),
    ):
        scoped.resource.attributes.add(key="service.name").value.string_value = "zzzz"
    spans = span.resource_spans[0].scope_spans.add()
    logs = log.resource_logs[0].scope_logs.add(schema_url="zzzz")
    metrics = metric.resource_metrics[0].scope_metrics.add(schema_url="zzzz")
    for scope in (spans.scope, logs.scope, metrics.scope):
        scope.name, scope.version = "zzzz", "zzzz"
    one = spans.spans.add(name="zzzz", trace_state="zzzz")
    one.status.message = "zzzz"
    one.attributes.add(key="zzzz").value.string_value = "zzzz"
    one.events.add(name="zzzz").attributes.add(key="zzzz").value.array_value.values.add().string_value = "zzzz"
    tree = one.links.add(trace_state="zzzz").attributes.add(key="zzzz").value.kvlist_value
    tree.values.add(key="zzzz").value.string_value = "zzzz"
    record = logs.log_records.add(severity_text="zzzz", event_name="zzzz")
    record.body.string_value = "zzzz"
    metrics.metrics.add(name="zzzz", description="zzzz", unit="zzzz").gauge.data_points.add()
    return {
        Signal.TRACES: span.SerializeToString(),
        Signal.LOGS: log.SerializeToString(),
        Signal.METRICS: metric.SerializeToString(),
    }


MARKED = marked_requests()


def test_huge_attribute(empty):
    """A value of 20 MB arrives whole."""
    assert () == empty.load([log_batch("big", prompt="x" * 20_000_000), log_batch("small")]).problems
    lengths = empty.query("SELECT length(LogAttributes['prompt']) AS size FROM otel_logs ORDER BY size")
    assert [0, 20_000_000] == lengths["size"].tolist()


def test_keys_are_sorted_and_doubled_keys_stay(empty):
    """Equal attributes are equal maps whatever their order; a key sent twice keeps both values."""
    request = oracle.REQUESTS[Signal.LOGS]()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    for key, value in [("b", "1"), ("a", "2"), ("b", "3")]:
        record.attributes.add(key=key).value.string_value = value
    empty.load([Batch(Signal.LOGS, request.SerializeToString())])
    map_ = empty.query("SELECT mapKeys(LogAttributes) AS k, mapValues(LogAttributes) AS v FROM otel_logs")
    assert ["a", "b", "b"] == map_["k"][0].tolist()
    assert ["1", "2", "3"] == sorted(map_["v"][0])


def test_trace_times(empty):
    """The look-up table tells from when to when a trace ran, and skips spans without trace id."""
    spans = [span_batch(start=5, end=9), span_batch(start=3, end=4), span_batch(trace_id=b"", start=1)]
    empty.load(spans)
    times = empty.query("SELECT TraceId, min(Start) AS s, max(End) AS e FROM otel_traces_trace_id_ts GROUP BY 1")
    assert [(bytes(range(16)).hex(), 3, 5)] == [tuple(map(plain, row)) for row in times.itertuples(index=False)]


@pytest.mark.parametrize("nano", [0, 1_796_009_705_333_000, 7_258_118_400 * 10**9, 2**63, 2**64 - 1])
def test_wrong_times_are_found_again(empty, nano):
    """Zero, microseconds for nanoseconds, year 2200 and beyond 2262 are kept, the last as the latest time."""
    empty.load([span_batch(start=nano, end=nano)])
    sql = "SELECT count() AS n FROM otel_traces WHERE Timestamp = fromUnixTimestamp64Nano({t:Int64})"
    assert [1] == empty.query(sql, t=min(nano, 2**63 - 1))["n"].tolist()


def test_values_as_text(empty):
    """Values become the text the Collector's exporter writes, the same within nested values."""
    written = {
        1.0: "1",
        -0.0: "-0",
        1e20: "100000000000000000000",
        1e21: "1e+21",
        1.5e-7: "1.5e-7",
        1e-6: "0.000001",
        float("inf"): "+Inf",
        float("-inf"): "-Inf",
        float("nan"): "NaN",
    }
    request = oracle.REQUESTS[Signal.LOGS]()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    for number, text in written.items():
        record.attributes.add(key=f"flat {text}").value.double_value = number
        record.attributes.add(key=f"list {text}").value.array_value.values.add().double_value = number
    flat = oracle.REQUESTS[Signal.LOGS]()
    flat.CopyFrom(request)
    del flat.resource_logs[0].scope_logs[0].log_records[0].attributes[1::2]
    empty.load([Batch(Signal.LOGS, part.SerializeToString()) for part in (request, flat)])
    nested, plain_ = empty.query("SELECT LogAttributes AS a FROM otel_logs ORDER BY length(a) DESC")["a"]
    listed = {text: f"[{text}]" if text[-1].isdigit() else f'["{text}"]' for text in written.values()}
    assert {f"flat {text}": text for text in written.values()} == plain_
    assert plain_ | {f"list {text}": item for text, item in listed.items()} == nested
