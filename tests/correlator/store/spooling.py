"""Segments for the tests of the loader, and what must be in the store for them, exactly once."""

from correlator.model.records import Signal
from correlator.model.segments import SegmentName, encode
from tests.correlator.store import oracle
from tests.correlator.store.build import gauge, log_batch, metric_batch, span_batch

IDENTITIES = {
    "otel_traces": "SpanName",
    "otel_logs": "Body",
    "otel_metrics_gauge": "Attributes['number']",
    "otel_metrics_sum": "Attributes['number']",
}
"""What tells one record of these tests from the other."""


def record(signal, number):
    """A request of one record that carries `number`; of metrics one for each of two tables."""
    if signal is Signal.TRACES:
        return span_batch(str(number), trace_id=(number + 1).to_bytes(16, "big"), start=number * 10**9 + 1).payload
    if signal is Signal.LOGS:
        return log_batch(str(number)).payload
    request = oracle.REQUESTS[Signal.METRICS].FromString(metric_batch(gauge(as_double=1.0)).payload)
    metric = request.resource_metrics[0].scope_metrics[0].metrics.add(name="total")
    metric.sum.data_points.add(as_int=1)
    for point in (*request.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points, *metric.sum.data_points):
        point.attributes.add(key="number").value.string_value = str(number)
    return request.SerializeToString()


def write_segment(folder, number, signal, payloads, sealed=True):
    """A segment as the collector would leave it."""
    folder.mkdir(exist_ok=True)
    path = folder / str(SegmentName(number, signal, sealed))
    path.write_bytes(encode(number.to_bytes(8, "big"), payloads))
    return path


def fill(folder, numbers, signals=tuple(Signal)):
    """For every number a segment of each signal, with ten records."""
    for number in numbers:
        for place, signal in enumerate(signals):
            payloads = [record(signal, number * 10 + extra) for extra in range(10)]
            write_segment(folder, number * 3 + place, signal, payloads)


def numbers_in(store, table):
    """The numbers of all records in a table, sorted."""
    identity = IDENTITIES.get(table, "SpanName")
    return sorted(map(int, store.query(f"SELECT {identity} AS number FROM {table}")["number"]))


def emptied(store):
    """The store without rows in any of its telemetry tables."""
    for table in [name for name in store.query("SHOW TABLES")["name"] if name.startswith("otel_")]:
        if not table.endswith("_mv"):
            store.query(f"TRUNCATE TABLE {table}")
    return store


def check(store, numbers):
    """Every record of `numbers` is in each table once, also in those that views fill."""
    expected = sorted(numbers)
    for table in IDENTITIES:
        assert expected == numbers_in(store, table), table
    sampled = store.query("SELECT SpanName AS n FROM otel_traces WHERE TraceId != '' AND cityHash64(TraceId) % 16 = 0")
    assert sorted(map(int, sampled["n"])) == numbers_in(store, "otel_traces_sixteenth")
    traced = store.query("SELECT uniqExact(TraceId) AS traces FROM otel_traces_trace_id_ts")["traces"][0]
    assert len(expected) == traced
